/**
 * An action whose host lost its memory: the new one is given the request and looks for its effect, in
 * both stores and over real sockets. Real: client, host kit, signatures, stores. Doubled: the
 * connector, which does what the test says.
 */
import fc from 'fast-check';
import type { HostOutcome } from '../../../src/domain/host-protocol';
import type { HostCall } from '../../../src/hosts/client';
import type { HostResult } from '../../../src/hosts/client/results';
import { provesNotStarted } from '../../../src/hosts/client/results';
import { capability, type Capability, type Recovery } from '../../../src/hosts/kit/connector';
import { adopt, begin, fenceOff, type FenceAnswer } from '../../../src/hosts/kit/decisions';
import type { Host } from '../../../src/hosts/kit/host';
import type { ActionRecord, HostStore } from '../../../src/hosts/kit/store';
import { memoryStore } from '../../../src/hosts/kit/stores/memory';
import { sqliteStore } from '../../../src/hosts/kit/stores/sqlite';
import { callTo, Folder, json } from '../support/fixtures';
import { at, BODY, bothSides } from '../support/host-at-work';
import { DONE, hostOver, TIMEOUT_MS, Work } from '../support/work';

const folder = new Folder();
const sides = bothSides();
let files = 0;

afterAll(() => {
  folder.remove();
});

const STORES: readonly (readonly [string, () => HostStore])[] = [
  ['memory', () => memoryStore()],
  ['sqlite', () => sqliteStore(folder.file(`store-${String((files += 1))}`))],
];

/** Every way of clearing an unknown outcome up, without a `recover` of its own. */
function withoutLookup(
  recovery: 'provider_key' | 'none',
  sideEffect: 'read' | 'shared-write',
): Capability {
  return capability({
    contract: {
      ...{ interfaceName: 'work-items', sideEffect, recovery },
      ...{ requestSchema: {}, resultSchema: {}, timeoutMs: TIMEOUT_MS },
    },
    parse: (body) => body,
    execute: () => Promise.resolve(DONE),
  });
}

describe.each(STORES)('a new %s store', (_name, open) => {
  let host: Host;
  let work: Work;
  let startedAgoMs: number[];

  beforeEach(async () => {
    startedAgoMs = [];
    work = new Work();
    const lookup = capability({
      contract: {
        ...{ interfaceName: 'work-items', sideEffect: 'shared-write', recovery: 'lookup' },
        ...{ requestSchema: {}, resultSchema: {}, timeoutMs: TIMEOUT_MS },
      },
      parse: (body) => body,
      execute: (context, request) => work.execute(context, request),
      recover: (context): Promise<Recovery> => {
        startedAgoMs.push(context.startedAgoMs);
        return work.recover();
      },
    });
    const capabilities = {
      'tickets.create': lookup,
      'tickets.keyed': withoutLookup('provider_key', 'shared-write'),
      'tickets.blind': withoutLookup('none', 'shared-write'),
      'tickets.read': withoutLookup('none', 'read'),
    };
    host = await hostOver(work, sides.keys, { store: open(), capabilities });
  });
  afterEach(async () => {
    await host.stop();
  });

  /** Sent to a memory that is gone; this host is asked. */
  function sentBefore(capabilityId = 'tickets.create'): HostCall {
    const { storeEpoch } = host;
    return callTo(host, { storeEpoch, sentAgoMs: 5_000, route: { capabilityId } });
  }

  function answered(outcome: HostOutcome): HostResult {
    return { kind: 'answered', outcome, storeEpoch: host.storeEpoch };
  }

  test('finds the effect, and keeps it as its result', async () => {
    work.finds = DONE;
    const call = sentBefore();
    expect(await sides.client.reconcile(call, BODY)).toEqual(answered(DONE));
    expect(await sides.client.execute(at(call, 11), BODY)).toEqual(answered(DONE));
    expect(work.recoveries).toBe(1);
    expect(work.begun).toHaveLength(0);
    expect(startedAgoMs[0]).toBeGreaterThanOrEqual(5_000);
    expect(startedAgoMs[0]).toBeLessThan(15_000);
  });

  test('seals what its lookup proves absent; a higher fence may then begin it', async () => {
    work.finds = { kind: 'not_started' };
    const call = sentBefore();
    expect(await sides.client.reconcile(call, BODY)).toEqual(answered({ kind: 'not_started' }));
    const late = await sides.client.execute(call, BODY);
    expect(late).toMatchObject({ refusal: 'stale_fence', highestFence: 10 });
    const retry = sides.client.execute(at(call, 11), BODY);
    (await work.times(1)).finish(DONE);
    expect(await retry).toEqual(answered(DONE));
  });

  test('does not know until its lookup does, also when it is asked without the request', async () => {
    const call = sentBefore();
    const unknown = answered({ kind: 'unknown' });
    expect(await sides.client.reconcile(call, BODY)).toEqual(unknown);
    expect(await sides.client.reconcile(at(call, 11))).toEqual(unknown);
    expect(await sides.client.cancel(at(call, 12))).toEqual(unknown);
    expect(await sides.client.execute(at(call, 13), BODY)).toEqual(unknown);
    expect(work.begun).toHaveLength(0);
    work.finds = DONE;
    expect(await sides.client.reconcile(at(call, 14), BODY)).toEqual(answered(DONE));
  });

  test('looks as for something just sent where nobody knows how long ago it was', async () => {
    await sides.client.reconcile({ ...sentBefore(), sentAgoMs: null }, BODY);
    expect(startedAgoMs[0]).toBeLessThan(5_000);
  });

  test('cannot tell where the provider dedups by key, and may then repeat it', async () => {
    const call = sentBefore('tickets.keyed');
    expect(await sides.client.reconcile(call, BODY)).toEqual(answered({ kind: 'unknown' }));
    expect(await sides.client.reconcile(at(call, 11))).toEqual(answered({ kind: 'unknown' }));
    expect(await sides.client.execute(at(call, 12), BODY)).toEqual(answered(DONE));
  });

  test('never tells where there is no way to find out', async () => {
    const call = sentBefore('tickets.blind');
    const unknown = answered({ kind: 'unknown' });
    expect(await sides.client.reconcile(call, BODY)).toEqual(unknown);
    expect(await sides.client.reconcile(at(call, 11))).toEqual(unknown);
    expect(await sides.client.execute(at(call, 12), BODY)).toEqual(unknown);
  });

  test('a read had no effect that could be missing', async () => {
    const call = sentBefore('tickets.read');
    expect(await sides.client.reconcile(call, BODY)).toEqual(answered({ kind: 'not_started' }));
  });

  test('what it refuses proves nothing', async () => {
    const call = sentBefore();
    const refused = [
      await sides.client.reconcile({ ...call, expiresAtMs: Date.now() }, BODY),
      await sides.client.reconcile({ ...call, route: { ...call.route, version: '9' } }, BODY),
      await sides.client.reconcile({ ...call, route: { ...call.route, capabilityId: 'no' } }, BODY),
    ];
    await sides.client.reconcile(at(call, 20), BODY);
    refused.push(await sides.client.reconcile(at(call, 19), BODY));
    const other = json({ title: 'Another' });
    refused.push(await sides.client.reconcile(at(call, 21), other));
    expect(refused).toMatchObject([
      { refusal: 'token_expired', started: true },
      { refusal: 'wrong_coordinates', started: true },
      { refusal: 'unknown_capability', started: true },
      { refusal: 'stale_fence', started: true, highestFence: 20 },
      { refusal: 'request_conflict', started: true, highestFence: 20 },
    ]);
    expect(refused.some(provesNotStarted)).toBe(false);
  });

  test('what it has a record of is answered from that', async () => {
    const call = sentBefore();
    const sent = sides.client.execute({ ...call, sentAgoMs: null }, BODY);
    (await work.times(1)).finish(DONE);
    await sent;
    expect(await sides.client.reconcile(at(call, 11), BODY)).toEqual(answered(DONE));
    expect(work.recoveries).toBe(0);
  });
});

test('whatever is asked about an adopted action, its memory never says that nothing began', () => {
  const work = {
    ...{ capability: 'tickets.create', requestSha256: 'a'.repeat(64), request: '{}' },
    ...{ credentialRevision: '7', approval: null, intentAtMs: 0 },
  };
  const step = fc.record({
    kind: fc.constantFrom('adopt', 'seal', 'tombstone', 'begin'),
    fence: fc.integer({ min: 1, max: 6 }),
    tokenUsed: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      let record: ActionRecord | null = adopt(3, work)(null, false).record;
      for (const { kind, fence, tokenUsed } of steps) {
        const decide =
          kind === 'adopt'
            ? adopt(fence, work)
            : kind === 'begin'
              ? begin({ fence, work, again: false, anew: false })
              : fenceOff(fence, kind === 'seal' ? 'seal' : 'tombstone');
        const change = decide(record, tokenUsed);
        const answer: FenceAnswer | { readonly kind: 'begun' } = change.answer;
        expect(['intent', 'refused']).toContain(answer.kind);
        if (answer.kind === 'refused') expect(answer.started).toBe(true);
        record = change.record ?? record;
      }
    }),
  );
});
