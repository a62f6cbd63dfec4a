/** What a connector's process is told by its environment. */
import { writeFileSync } from 'node:fs';
import { capability } from '../../../src/hosts/kit/connector';
import { manifestOf } from '../../../src/hosts/kit/manifest';
import { hostSettings } from '../../../src/hosts/kit/settings';
import { Folder } from '../support/fixtures';

const folder = new Folder();
afterAll(() => {
  folder.remove();
});

const GIVEN = {
  ...{ WAYBILL_HOST_REPLICA: 'notes-1', WAYBILL_HOST_TENANT: 'acme' },
  ...{ WAYBILL_HOST_INSTANCE: 'notes-acme', WAYBILL_HOST_CREDENTIALS: 'r1, r2' },
  ...{ WAYBILL_HOST_KEY: 'env:KEY', KEY: '{}', WAYBILL_HOST_STORE: 'host.sqlite' },
};

function file(name: string, text: string): string {
  writeFileSync(folder.file(name), text);
  return folder.file(name);
}

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

test('told whom to believe, it registers nowhere', () => {
  const keys = { keys: [{ kty: 'OKP', crv: 'Ed25519', kid: 'k', x: 'x' }] };
  const trust = file('trust.json', JSON.stringify({ issuer: 'urn:suite', jwks: keys }));
  const { registration } = hostSettings({ ...GIVEN, WAYBILL_CONFORMANCE_TRUST: trust });
  expect(registration).toEqual({ incarnation: 1, trust: { issuer: 'urn:suite', keys } });
});

test.each<[Record<string, string>, RegExp]>([
  [{ WAYBILL_HOST_REPLICA: '' }, /^WAYBILL_HOST_REPLICA is missing$/],
  [{ WAYBILL_HOST_KEY: 'k.jwk' }, /^WAYBILL_HOST_KEY: write env:NAME or file:PATH$/],
  [{ WAYBILL_HOST_KEY: 'env:NO_KEY' }, /^WAYBILL_HOST_KEY: NO_KEY is not set$/],
  [{ WAYBILL_HOST_KEY: 'file:/no/key' }, /^WAYBILL_HOST_KEY: \/no\/key cannot be read$/],
  [{ WAYBILL_HOST_LISTEN: '7390' }, /^WAYBILL_HOST_LISTEN: write host:port$/],
  [{ WAYBILL_HOST_HEARTBEAT: 'often' }, /^WAYBILL_HOST_HEARTBEAT: write a duration/],
  [{ WAYBILL_HOST_LIFECYCLE_URL: 'waybill' }, /^WAYBILL_HOST_LIFECYCLE_URL: write an http/],
  [{ WAYBILL_CONFORMANCE_TRUST: '/no/file' }, /^WAYBILL_CONFORMANCE_TRUST: \/no\/file cannot be/],
])('%j is refused, and named', (wrong, message) => {
  expect(() => hostSettings({ ...GIVEN, ...wrong })).toThrow(message);
});

test('a trust file that is none is refused, without what it holds', () => {
  const trust = file('other.json', '{"issuer": "urn:suite"}');
  expect(() => hostSettings({ ...GIVEN, WAYBILL_CONFORMANCE_TRUST: trust })).toThrow(
    `WAYBILL_CONFORMANCE_TRUST: ${trust} is not {"issuer", "jwks"}`,
  );
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
