/** What a connector's process is told by its environment. */
import { capability } from '../../../src/hosts/kit/connector';
import { manifestOf } from '../../../src/hosts/kit/manifest';
import { hostSettings } from '../../../src/hosts/kit/settings';

const GIVEN = {
  ...{ WAYBILL_HOST_REPLICA: 'notes-1', WAYBILL_HOST_TENANT: 'acme' },
  ...{ WAYBILL_HOST_INSTANCE: 'notes-acme', WAYBILL_HOST_CREDENTIALS: 'r1, r2' },
  ...{ WAYBILL_HOST_KEY: 'env:KEY', KEY: '{}', WAYBILL_HOST_STORE: 'host.sqlite' },
};

test('defaults: registers on this machine and listens there', () => {
  expect(hostSettings({ ...GIVEN, WAYBILL_HOST_LISTEN: '' })).toEqual({
    identity: {
      ...{ tenantId: 'acme', instanceId: 'notes-acme', replicaId: 'notes-1' },
      credentialRevisions: ['r1', 'r2'],
    },
    ...{ keyText: '{}', storeFile: 'host.sqlite', retireMs: 20_000 },
    registration: {
      ...{ url: 'http://127.0.0.1:7380', audience: 'urn:waybill:lifecycle', heartbeatMs: 10_000 },
    },
    listen: { host: '127.0.0.1', port: 7390 },
  });
});

test.each<[Record<string, string>, RegExp]>([
  [{ WAYBILL_HOST_REPLICA: '' }, /^WAYBILL_HOST_REPLICA is missing$/],
  [{ WAYBILL_HOST_KEY: 'k.jwk' }, /^WAYBILL_HOST_KEY: write env:NAME or file:PATH$/],
  [{ WAYBILL_HOST_KEY: 'env:NO_KEY' }, /^WAYBILL_HOST_KEY: NO_KEY is not set$/],
  [{ WAYBILL_HOST_KEY: 'file:/no/key' }, /^WAYBILL_HOST_KEY: \/no\/key cannot be read$/],
  [{ WAYBILL_HOST_LISTEN: '7390' }, /^WAYBILL_HOST_LISTEN: write host:port$/],
  [{ WAYBILL_HOST_HEARTBEAT: 'often' }, /^WAYBILL_HOST_HEARTBEAT: write a duration/],
  [{ WAYBILL_HOST_LIFECYCLE_URL: 'waybill' }, /^WAYBILL_HOST_LIFECYCLE_URL: write an http/],
])('%j is refused, and named', (wrong, message) => {
  expect(() => hostSettings({ ...GIVEN, ...wrong })).toThrow(message);
});

test('a manifest that nobody would read is refused, and the field named', () => {
  const contract = {
    ...({ interfaceName: 'notes', sideEffect: 'shared-write', recovery: 'none' } as const),
    ...{ requestSchema: {}, resultSchema: {}, timeoutMs: 0 },
  };
  const add = capability({
    contract,
    parse: (body) => body,
    execute: () => Promise.reject(new Error()),
  });
  expect(() => manifestOf({ connectorId: 'notes', version: '1.0.0' }, { add })).toThrow(
    /^the manifest, capabilities\.0\.timeoutMs: /,
  );
});
