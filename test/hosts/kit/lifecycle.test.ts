/**
 * A host's life as Waybill sees it: registered, renewed, drained, gone. Real: host kit, signatures,
 * sockets. Doubled: Waybill's lifecycle service, in memory, with the real verification.
 */
import type { Host } from '../../../src/hosts/kit/host';
import { memoryStore } from '../../../src/hosts/kit/stores/memory';
import { LifecycleService } from '../../../src/hosts/testing/lifecycle-service';
import { didOfKey } from '../../../src/signing/did-key';
import type { SigningKey } from '../../../src/signing/keys';
import { until } from '../../support/until';
import { callTo, clientOf, json, newKey, trustIn } from '../support/fixtures';
import { DONE, hostOver, Work } from '../support/work';

let keys: { host: SigningKey; waybill: SigningKey };
let service: LifecycleService;
const hosts: Host[] = [];
const BODY = json({ title: 'Broken lamp' });

beforeEach(async () => {
  keys = { host: await newKey(), waybill: await newKey() };
  service = new LifecycleService(didOfKey(keys.host.publicJwk.x), trustIn(keys.waybill));
  await service.start();
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.stop();
  await service.stop();
});

async function start(more: Parameters<typeof hostOver>[2] = {}, work = new Work()): Promise<Host> {
  const registration = { url: service.url, heartbeatMs: 40, retryMs: 10 };
  const host = await hostOver(work, keys, { registration, ...more });
  hosts.push(host);
  return host;
}

test('registering gives the keys and the incarnation that tokens are judged by', async () => {
  const work = new Work();
  const host = await start({}, work);
  const registered = service.calls[0];
  expect(registered).toMatchObject({
    operation: 'register',
    previous_sequence: 0,
    store_epoch: host.storeEpoch,
    manifest_digest: host.manifestDigest,
  });
  const client = clientOf(keys.waybill);
  const sent = client.execute(callTo(host, { incarnation: 1 }), BODY);
  (await work.times(1)).finish(DONE);
  expect(await sent).toMatchObject({ outcome: DONE });
  await client.close();
});

test('each heartbeat names the sequence before it', async () => {
  await start();
  const third = await service.saw(({ previous_sequence: previous }) => previous === 3);
  expect(third).toMatchObject({ operation: 'heartbeat', healthy: true, in_flight: 0 });
  const sequences = service.calls.map((call) => call.previous_sequence);
  expect(sequences).toEqual(sequences.map((_, index) => index));
});

test('a call whose answer was lost is repeated under its id, and counted once', async () => {
  service.losing = 2;
  await start();
  const [first, second, third] = service.calls;
  expect(second?.request_id).toBe(first?.request_id);
  expect(third?.request_id).toBe(first?.request_id);
  expect(service.incarnation).toBe(1);
});

test('a restart goes on with the sequence of its store, as a new incarnation', async () => {
  const store = memoryStore();
  const kept = { ...store, close: () => Promise.resolve() };
  const first = await start({ store: kept });
  await first.stop();
  hosts.splice(0);
  const before = service.sequence;
  await start({ store: kept });
  expect(service.calls.at(-1)).toMatchObject({ previous_sequence: before });
  expect(service.incarnation).toBe(2);
});

test('a host without its old store learns the sequence', async () => {
  service.sequence = 41;
  await start();
  expect(service.calls.map((call) => call.previous_sequence).slice(0, 2)).toEqual([0, 41]);
  expect(service.incarnation).toBe(1);
});

test('a new key arrives with a heartbeat, before it is used', async () => {
  const work = new Work();
  const host = await start({}, work);
  const next = await newKey();
  service.trust = trustIn(keys.waybill, next);
  const seen = service.sequence + 2;
  await service.saw(({ previous_sequence: previous }) => previous >= seen);
  const client = clientOf(next);
  const sent = client.execute(callTo(host, { incarnation: 1 }), BODY);
  (await work.times(1)).finish(DONE);
  expect(await sent).toMatchObject({ outcome: DONE });
  await client.close();
});

test('drain and stop are told', async () => {
  const host = await start();
  await host.drain();
  await service.saw(({ operation }) => operation === 'drain');
  await host.stop();
  hosts.splice(0);
  expect(service.calls.at(-1)).toMatchObject({ operation: 'offline' });
});

test.each<[string, () => void, string]>([
  ['whose place was taken', () => (service.sequence += 10), 'another process has registered'],
  [
    'that Waybill does not know any more',
    () => (service.unknown = true),
    'has no replica acme-tickets-1',
  ],
])('a host %s says nothing more, and why', async (_which, turnAway, why) => {
  const failed: unknown[] = [];
  let superseded: () => void = () => undefined;
  const noticed = new Promise<void>((resolve) => (superseded = resolve));
  const host = await start({
    failed: (error) => {
      failed.push(error);
      superseded();
    },
  });
  turnAway();
  await noticed;
  expect(String(failed[0])).toContain(why);
  const client = clientOf(keys.waybill);
  const call = callTo(host, { incarnation: 1 });
  expect(await client.reconcile(call)).toMatchObject({ kind: 'lost', reason: 'wrong_signature' });
  await client.close();
});

test('a host whose key Waybill does not have keeps asking, and is not served', async () => {
  const failed: unknown[] = [];
  const stranger = await newKey();
  const starting = hostOver(
    new Work(),
    { ...keys, host: stranger },
    {
      registration: { url: service.url, retryMs: 10 },
      failed: (error) => failed.push(error),
    },
  );
  await until('it was refused twice', () => Promise.resolve(failed[1]));
  expect(String(failed[0])).toContain('answered 401 to register');
  expect(service.calls).toHaveLength(0);
  // The row gets its key.
  service.did = didOfKey(stranger.publicJwk.x);
  hosts.push(await starting);
  expect(service.incarnation).toBe(1);
});

test('a host that was cut off for longer than its lease comes back as a new incarnation', async () => {
  const work = new Work();
  const host = await start({}, work);
  service.expired = true;
  await service.saw(({ operation }) => operation === 'heartbeat');
  await until('it has registered again', () =>
    Promise.resolve(service.incarnation === 2 && service.status === 'ready' ? true : null),
  );
  const client = clientOf(keys.waybill);
  const before = await client.execute(callTo(host, { incarnation: 1 }), BODY);
  expect(before).toMatchObject({ kind: 'refused', refusal: 'wrong_coordinates' });
  const sent = client.execute(callTo(host, { incarnation: 2 }), BODY);
  (await work.times(1)).finish(DONE);
  expect(await sent).toMatchObject({ outcome: DONE });
  await client.close();
});

test('retiring drains, waits until nothing is open, and says goodbye', async () => {
  const host = await start();
  service.open = 1;
  const retired = host.retire(20_000);
  hosts.splice(0);
  await service.saw(({ operation }) => operation === 'drain');
  const { sequence } = service;
  await service.saw(({ previous_sequence: previous }) => previous >= sequence + 2);
  expect(service.status).toBe('draining');
  service.open = 0;
  await retired;
  expect(service.calls.slice(-2).map(({ operation }) => operation)).toEqual([
    'heartbeat',
    'offline',
  ]);
  expect(service.status).toBe('offline');
});

test('retiring does not wait for ever: neither for what is open nor for an answer', async () => {
  const host = await start();
  service.open = 1;
  hosts.splice(0);
  await host.retire(100);
  expect(service.status).toBe('offline');
  const second = await start();
  hosts.splice(0);
  service.losing = Number.MAX_SAFE_INTEGER;
  const startedAt = performance.now();
  await second.retire(50);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

test('another manifest than the published one ends the host at its start', async () => {
  service.problem = { status: 422, code: 'manifest_mismatch', detail: 'not this one' };
  const starting = start();
  await expect(starting).rejects.toMatchObject({
    ...{ code: 'manifest_mismatch', message: 'not this one' },
  });
});

test('a host that another process has pushed aside does not start', async () => {
  let moving = 0;
  // Every answer names a sequence that has moved on meanwhile.
  Object.defineProperty(service, 'sequence', { get: () => (moving += 1) });
  await expect(start()).rejects.toMatchObject({ code: 'host_turned_away' });
});
