/**
 * The reference host over the controlled provider, in this process and over real sockets. Doubled:
 * nothing. Verdict: the provider's own records.
 */
import { generateKeyText, type SigningKey } from '../../src/signing/keys';
import type { HostCall, HostClient } from '../../src/hosts/client';
import type { Host } from '../../src/hosts/kit/host';
import { startProvider, type Provider } from '../../src/hosts/provider/provider';
import { referenceManifestDigest, startReferenceHost } from '../../src/hosts/reference/host';
import { until } from '../support/until';
import {
  callTo,
  clientOf,
  Folder,
  IDENTITY,
  INCARNATION,
  json,
  newKey,
  trustIn,
} from './support/fixtures';

const folder = new Folder();
let waybill: SigningKey;
let client: HostClient;
let provider: Provider;
let host: Host;

beforeAll(async () => {
  waybill = await newKey();
  client = clientOf(waybill);
  provider = await startProvider({
    file: folder.file('provider'),
    accounts: { 'token-of-acme': 'acme', 'token-of-umbrella': 'umbrella' },
    listen: { host: '127.0.0.1', port: 0 },
  });
  host = await startReferenceHost({
    identity: IDENTITY,
    keyText: await generateKeyText(),
    storeFile: folder.file('store'),
    provider: { url: provider.url, token: 'token-of-acme' },
    registration: { incarnation: INCARNATION, trust: trustIn(waybill) },
    listen: { host: '127.0.0.1', port: 0 },
  });
});
afterAll(async () => {
  await client.close();
  await host.stop();
  await provider.stop();
  folder.remove();
});

function call(capabilityId: string): HostCall {
  return callTo(host, { route: { capabilityId } });
}

test('its manifest has the digest that routes name', () => {
  expect(host.manifestDigest).toBe(referenceManifestDigest({ identity: IDENTITY }));
});

test.each(['tickets.create', 'tickets.create_keyed', 'tickets.create_blind', 'tickets.publish'])(
  '%s makes one ticket, noted once',
  async (capabilityId) => {
    const asked = call(capabilityId);
    const result = await client.execute(asked, json({ title: 'Broken lamp' }));
    const [effect, ...more] = provider.ledger.findByReference('acme', asked.route.actionId);
    expect(more).toEqual([]);
    expect(result).toMatchObject({
      outcome: { kind: 'succeeded', result: { ticketId: effect?.id } },
    });
    const noted = provider.ledger.audit(0).filter(({ effectId }) => effectId === effect?.id);
    expect(noted).toMatchObject([{ operation: 'created', account: 'acme' }]);
  },
);

test('a record reads the same each time; a foreign one is not found', async () => {
  const body = json({ recordId: 'acme.invoice-1' });
  const first = await client.execute(call('tickets.read'), body);
  expect(first).toMatchObject({ outcome: { kind: 'succeeded' } });
  expect(await client.execute(call('tickets.read'), body)).toEqual(first);
  const foreign = await client.execute(
    call('tickets.read'),
    json({ recordId: 'umbrella.invoice-1' }),
  );
  expect(foreign).toMatchObject({ outcome: { kind: 'failed', errorCode: 'record_not_found' } });
});

test('slow work is cancelled at the provider, and stays cancelled', async () => {
  const asked = call('reports.build');
  const sent = client.execute(asked, json({ title: 'Yearly', durationMs: 60_000 }));
  await until('the report is being built', async () => {
    const state = await client.read(asked);
    const outcome = state.kind === 'answered' ? state.outcome : null;
    return outcome?.kind === 'running' ? outcome.progress?.note : null;
  });
  const cancelled = { outcome: { kind: 'cancelled' } };
  expect(await client.cancel({ ...asked, fence: 11 })).toMatchObject(cancelled);
  expect(await sent).toMatchObject(cancelled);
  const [job] = provider.ledger.findByReference('acme', asked.route.actionId);
  expect(job?.status).toBe('cancelled');
});

test('slow work that is left alone finishes', async () => {
  const sent = client.execute(call('reports.build'), json({ title: 'Daily', durationMs: 100 }));
  expect(await sent).toMatchObject({ outcome: { kind: 'succeeded' } });
});

test('a key that is none is refused at the start', async () => {
  const second = startReferenceHost({
    identity: IDENTITY,
    keyText: 'no key',
    storeFile: folder.file('other-store'),
    provider: { url: provider.url, token: 'token-of-acme' },
    registration: { incarnation: INCARNATION, trust: trustIn(waybill) },
    listen: { host: '127.0.0.1', port: 0 },
  });
  await expect(second).rejects.toThrow('the signing key is not JSON');
});

test('the provider: one key is one effect, and another wish under it is refused', async () => {
  const post = async (key: string, title: string): Promise<[number, unknown]> => {
    const response = await fetch(`${provider.url}/v1/tickets`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer token-of-umbrella',
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify({ title }),
    });
    return [response.status, await response.json()];
  };
  const [status, effect] = await post('k1', 'One');
  expect(status).toBe(201);
  expect(await post('k1', 'One')).toEqual([200, effect]);
  expect((await post('k1', 'Two'))[0]).toBe(409);
  const withoutToken = await fetch(`${provider.url}/v1/effects?reference=x`);
  expect(withoutToken.status).toBe(401);
});
