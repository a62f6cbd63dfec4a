/**
 * SIGKILL of a real host process at each of the five boundaries of an execution, then a restart and a
 * repeat on the same route. Doubled: nothing. Verdict: the provider's own records.
 */
import { generateKeyText, importSigningKey, type SigningKey } from '../../src/signing/keys';
import type { HostCall, HostClient } from '../../src/hosts/client';
import type { HostResult } from '../../src/hosts/client/results';
import type { HostPoint } from '../../src/hosts/kit/points';
import { didOfKey } from '../../src/signing/did-key';
import { startProvider, type Provider } from '../../src/hosts/provider/provider';
import { referenceManifestDigest } from '../../src/hosts/reference/host';
import type { ReferenceHostOptions } from '../../src/hosts/reference/host';
import { heldEffects, holdEffects, releaseEffects } from '../support/provider-holds';
import { until } from '../support/until';
import {
  callTo,
  clientOf,
  Folder,
  IDENTITY,
  json,
  INCARNATION,
  newKey,
  trustIn,
} from './support/fixtures';
import { HostProcess } from './support/host-process';

const PROVIDER_TIMEOUT_MS = 400;
const BODY = json({ title: 'Broken lamp' });
const folder = new Folder();
let client: HostClient;
let waybill: SigningKey;
let provider: Provider;
let stores = 0;
let options: ReferenceHostOptions;
let did: string;

beforeAll(async () => {
  waybill = await newKey();
  client = clientOf(waybill);
  provider = await startProvider({
    file: folder.file('provider'),
    accounts: { 'token-of-acme': 'acme' },
    listen: { host: '127.0.0.1', port: 0 },
  });
});
beforeEach(async () => {
  const keyText = await generateKeyText();
  did = didOfKey((await importSigningKey(keyText)).publicJwk.x);
  options = {
    identity: IDENTITY,
    keyText,
    storeFile: folder.file(`store-${String((stores += 1))}`),
    provider: { url: provider.url, token: 'token-of-acme' },
    registration: { incarnation: INCARNATION, trust: trustIn(waybill) },
    listen: { host: '127.0.0.1', port: 0 },
    timeoutMs: 5_000,
    providerTimeoutMs: PROVIDER_TIMEOUT_MS,
  };
});
afterAll(async () => {
  await client.close();
  await provider.stop();
  folder.remove();
});

function effectsOf(call: HostCall): number {
  return provider.ledger.findByReference('acme', call.route.actionId).length;
}

function to(host: HostProcess, call: HostCall, fence: number): HostCall {
  return { ...call, fence, route: { ...call.route, endpoint: host.url } };
}

/** Dispatches, kills the host where it stands at the point, and starts it again. */
async function killedAt(
  point: HostPoint,
  capabilityId: string,
): Promise<{ readonly call: HostCall; readonly heir: HostProcess }> {
  const atProvider = point === 'provider_effect_committed';
  const doomed = await HostProcess.start(options, atProvider ? '' : point);
  const manifestDigest = referenceManifestDigest(options);
  const call = callTo({ url: doomed.url, did, manifestDigest }, { route: { capabilityId } });
  if (atProvider) await holdEffects(provider.url, 1);
  const sent = client.execute(call, BODY);
  await (atProvider ? heldEffects(provider.url, 1) : doomed.held());
  await doomed.kill();
  expect(await sent).toMatchObject({ kind: 'lost', cause: 'host', reason: 'connection_lost' });
  await releaseEffects(provider.url);
  return { call, heir: await HostProcess.start(options) };
}

/** Repeats on the same route, each time with a higher fence, until the host knows. */
async function repeated(heir: HostProcess, call: HostCall): Promise<HostResult> {
  let fence = call.fence;
  return await until('a final answer', async () => {
    const result = await client.execute(to(heir, call, (fence += 1)), BODY);
    return result.kind === 'answered' && result.outcome.kind === 'unknown' ? null : result;
  });
}

const POINTS: readonly HostPoint[] = [
  'before_intent_persistence',
  'intent_persisted',
  'provider_effect_committed',
  'provider_response_received',
  'result_persisted',
];

describe.each(['tickets.create', 'tickets.create_keyed'])('%s', (capabilityId) => {
  test.each(POINTS)('killed at %s, repeated: exactly one effect, one result', async (point) => {
    const { call, heir } = await killedAt(point, capabilityId);
    const result = await repeated(heir, call);
    expect(result).toMatchObject({ outcome: { kind: 'succeeded' } });
    const again = await client.reconcile(to(heir, call, 1_000));
    expect(again).toEqual(result);
    expect(effectsOf(call)).toBe(1);
    await heir.stop();
  });
});

test.each<{ point: HostPoint; kind: string; effects: number }>([
  { point: 'before_intent_persistence', kind: 'succeeded', effects: 1 },
  { point: 'intent_persisted', kind: 'unknown', effects: 0 },
  { point: 'provider_effect_committed', kind: 'unknown', effects: 1 },
  { point: 'provider_response_received', kind: 'unknown', effects: 1 },
  { point: 'result_persisted', kind: 'succeeded', effects: 1 },
])(
  'without a way to find out, killed at $point: $kind for good, never a second effect',
  async ({ point, kind, effects }) => {
    const { call, heir } = await killedAt(point, 'tickets.create_blind');
    for (const fence of [11, 12]) {
      const result = await client.execute(to(heir, call, fence), BODY);
      expect(result).toMatchObject({ kind: 'answered', outcome: { kind } });
    }
    expect(await client.reconcile(to(heir, call, 13))).toMatchObject({ outcome: { kind } });
    expect(effectsOf(call)).toBe(effects);
    await heir.stop();
  },
);

test('killed with the effect made, reconciled: found, and the route keeps its one effect', async () => {
  const { call, heir } = await killedAt('provider_effect_committed', 'tickets.create');
  const result = await client.reconcile(to(heir, call, 11));
  expect(result).toMatchObject({ outcome: { kind: 'succeeded' } });
  expect(await client.execute(to(heir, call, 12), BODY)).toEqual(result);
  expect(effectsOf(call)).toBe(1);
  await heir.stop();
});

test('killed before the effect, reconciled: sealed once no request can be under way', async () => {
  const { call, heir } = await killedAt('intent_persisted', 'tickets.create');
  let fence = 10;
  const sealed = await until('the seal', async () => {
    const result = await client.reconcile(to(heir, call, (fence += 1)));
    return result.kind === 'answered' && result.outcome.kind === 'unknown' ? null : result;
  });
  expect(sealed).toMatchObject({ outcome: { kind: 'not_started' } });
  const late = await client.execute(to(heir, call, call.fence), BODY);
  expect(late).toMatchObject({ refusal: 'stale_fence', started: false, highestFence: fence });
  expect(effectsOf(call)).toBe(0);
  await heir.stop();
});

test('a seal outlives a SIGKILL', async () => {
  const first = await HostProcess.start(options);
  const manifestDigest = referenceManifestDigest(options);
  const call = callTo({ url: first.url, did, manifestDigest });
  expect(await client.reconcile({ ...call, fence: 20 })).toMatchObject({
    outcome: { kind: 'not_started' },
  });
  await first.kill();
  const heir = await HostProcess.start(options);
  const late = await client.execute(to(heir, call, 19), BODY);
  expect(late).toMatchObject({ refusal: 'stale_fence', started: false, highestFence: 20 });
  expect(effectsOf(call)).toBe(0);
  await heir.stop();
});

test('a host that comes back without its store is a new epoch, not a host that did nothing', async () => {
  const { call, heir } = await killedAt('provider_effect_committed', 'tickets.create_blind');
  const { storeEpoch } = heir;
  await heir.kill();
  const emptied = await HostProcess.start({ ...options, storeFile: folder.file('emptied') });
  expect(emptied.storeEpoch).not.toBe(storeEpoch);
  const asked = { ...to(emptied, call, 11), storeEpoch };
  const lost = { kind: 'lost', cause: 'host', reason: 'store_lost' };
  expect(await client.reconcile(asked)).toMatchObject(lost);
  expect(await client.execute({ ...asked, fence: 12 }, BODY)).toMatchObject(lost);
  const adopted = { ...asked, fence: 13, storeEpoch: emptied.storeEpoch, sentAgoMs: 60_000 };
  expect(await client.reconcile(adopted, BODY)).toMatchObject({ outcome: { kind: 'unknown' } });
  expect(await client.reconcile({ ...adopted, fence: 14 })).toMatchObject({
    outcome: { kind: 'unknown' },
  });
  expect(effectsOf(call)).toBe(1);
  await emptied.stop();
});

test.each<{ point: HostPoint; kind: string; effects: number }>([
  { point: 'intent_persisted', kind: 'not_started', effects: 0 },
  { point: 'provider_effect_committed', kind: 'succeeded', effects: 1 },
])(
  'killed at $point, back without its store and given the request: it looks, and it is $kind',
  async ({ point, kind, effects }) => {
    const { call, heir } = await killedAt(point, 'tickets.create');
    const sentAt = performance.now();
    await heir.kill();
    const emptied = await HostProcess.start({ ...options, storeFile: folder.file(point) });
    let fence = 10;
    const result = await until('it is known', async () => {
      const sentAgoMs = performance.now() - sentAt;
      const at = to(emptied, { ...call, storeEpoch: emptied.storeEpoch, sentAgoMs }, (fence += 1));
      const answer = await client.reconcile(at, BODY);
      return answer.kind === 'answered' && answer.outcome.kind === 'unknown' ? null : answer;
    });
    expect(result).toMatchObject({ outcome: { kind } });
    expect(effectsOf(call)).toBe(effects);
    await emptied.stop();
  },
);
