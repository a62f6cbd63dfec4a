/**
 * What an answer of a host proves about an attempt, and what a question has found out. Real: the pure
 * functions over every kind of answer; nothing is doubled.
 */
import type { HostRefusal } from '../../../src/domain/host-protocol';
import type { HostResult } from '../../../src/hosts/client/results';
import { storable } from '../../../src/hosts/kit/outcomes';
import { BeginDispatchAnswer, BeginFencingAnswer } from '../../../src/schemas/action-step-rows';
import type { Askable, Sendable } from '../../../src/schemas/action-step-rows';
import { HostAnswerSchema } from '../../../src/schemas/host-messages';
import { closingOf } from '../../../src/services/actions/closings';
import { conclusionOf } from '../../../src/services/actions/conclusions';

const ROUTE = {
  ...{ tenantId: 'acme', actionId: 'a1', capabilityId: 'tickets.create', replicaId: 'h1' },
  ...{ connectorId: 'tickets', version: '1.0.0', manifestDigest: '0'.repeat(64) },
  ...{ instanceId: 'desk', credentialRevision: 'r1', quotaPolicyId: null, endpoint: 'http://h' },
  ...{ transportProfile: 'http-loopback', trustDomain: 'acme.test', peerDid: 'did:key:z6Mk' },
  ...{ peerPrincipalId: 'did:key:z6Mk', peerPrincipalKind: 'did', assignedAt: '2030-01-01' },
  ...{ catalogRevision: 1, bindingPolicyRevision: 1 },
  topology: { region: 'eu', zone: 'a', capacityClass: 'standard' },
};

const RECEIPTS = {
  ...{ capabilityId: 'tickets.create', requestSha256: '0'.repeat(64), result: null },
  ...{ receiptSeq: 0, receiptDigest: null, now: '2030-01-01T00:00:00Z' },
};

function sendable(uncertain: boolean): Sendable {
  const answer = BeginDispatchAnswer.parse({
    ...{ kind: 'send', route: ROUTE, attemptNo: 1, incarnation: 1, storeEpoch: null, uncertain },
    ...{ beginAnew: false, deadlineAtMs: 1, deadlineInMs: 1, timeoutMs: 1, receipts: RECEIPTS },
  });
  if (answer.kind !== 'send') throw new Error(answer.kind);
  return answer;
}

function askable(changes: Partial<Askable>): Askable {
  const answer = BeginFencingAnswer.parse({
    ...{ kind: 'ask', purpose: 'reconcile', route: ROUTE, fence: 2, incarnation: 1 },
    ...{ storeEpoch: 'e', nowMs: 1, sentAgoMs: 1, actionDeadlineInMs: 1_000, timeoutMs: 1 },
    ...{ recovery: 'none', sideEffect: 'shared-write', receipts: RECEIPTS, ...changes },
  });
  if (answer.kind !== 'ask') throw new Error(answer.kind);
  return answer;
}

const NOT_SENT: HostResult = { kind: 'not_sent', reason: 'connection_refused', detail: 'no' };
const refusal = (name: HostRefusal, started = false): HostResult => ({
  ...{ kind: 'refused', refusal: name, started, storeEpoch: 'e' },
  highestFence: name === 'stale_fence' ? 9 : null,
  retryAfterMs: null,
});
const NOT_STARTED: HostResult = {
  ...{ kind: 'answered', outcome: { kind: 'not_started' }, storeEpoch: 'e' },
};

function settled(result: HostResult, resumed: boolean, uncertain = false) {
  const closing = closingOf(result, { sendable: sendable(uncertain), resumed, durationMs: 1 });
  if (closing.kind !== 'settled') throw new Error('its host is at work');
  return closing;
}

const PROOFS: readonly (readonly [string, HostResult])[] = [
  ['a refused connection', NOT_SENT],
  ['a refusal', refusal('draining')],
  ['a refusal for good', refusal('unknown_capability')],
  ['"not started"', NOT_STARTED],
];

test.each(PROOFS)('%s proves that nothing began', (_what, result) => {
  expect(settled(result, false)).toMatchObject({ settlement: 'not_started', unknownCause: null });
});

test.each(PROOFS)('%s proves nothing of a host that was at work before', (_what, result) => {
  const end = { settlement: 'outcome_unknown', unknownCause: 'ours', result: null };
  expect(settled(result, true)).toMatchObject(end);
});

test('a final answer counts, resumed or not', () => {
  const outcome = { kind: 'succeeded', result: 1 } as const;
  for (const resumed of [true, false]) {
    const closing = settled({ kind: 'answered', outcome, storeEpoch: 'e' }, resumed);
    expect(closing).toMatchObject({ settlement: 'completed', result: { outcome: 'succeeded' } });
  }
});

test('a refusal for good ends it, unless an earlier try is in doubt', () => {
  const errorCode = 'host_refused.unknown_capability';
  const result = { outcome: 'failed', errorCode };
  expect(settled(refusal('unknown_capability'), false)).toMatchObject({ result });
  expect(settled(refusal('unknown_capability'), false, true).result).toBeNull();
  expect(settled(refusal('draining'), false).result).toBeNull();
});

describe('a fence above all that may be given out', () => {
  const stale = refusal('stale_fence', true);

  test('is asked over at once, then less and less often', () => {
    const inMs = [0, 1, 2, 6].map((round) => {
      const { found, highestFence } = conclusionOf(stale, askable({}), { round, random: 0 });
      expect(highestFence).toBe(9);
      return found.kind === 'again' ? found.inMs : null;
    });
    expect(inMs[0]).toBe(0);
    expect(inMs[1]).toBeGreaterThanOrEqual(250);
    expect(inMs[2]).toBeGreaterThan(Number(inMs[1]));
    expect(inMs[3]).toBeGreaterThan(10_000);
  });

  test('is for a person at the deadline', () => {
    const asked = askable({ actionDeadlineInMs: 0 });
    for (const round of [0, 3]) {
      const { found } = conclusionOf(stale, asked, { round, random: 0 });
      expect(found).toMatchObject({ kind: 'needs_operator', reason: 'stale_fence' });
    }
  });
});

test.each([
  [{ recovery: 'provider_key' }, { kind: 'repeatable' }, null],
  [{ sideEffect: 'read' }, { kind: 'repeatable' }, null],
  [{ recovery: 'lookup' }, { kind: 'again', inMs: 0 }, 'new'],
  [{ recovery: 'none' }, { kind: 'needs_operator', reason: 'store_lost' }, null],
] as const)('a lost memory with %j is %j', (changes, found, adopt) => {
  const at = { round: 0, random: 0 };
  const lost: HostResult = {
    ...{ kind: 'lost', cause: 'host', reason: 'store_lost', detail: '', storeEpoch: 'new' },
  };
  expect(conclusionOf(lost, askable(changes), at)).toMatchObject({ found, adopt });
});

describe("a host's words that no row can hold", () => {
  const claims = (outcome: object) => ({
    ...{ iss: 'did:key:z6Mk', iat: 1, in_reply_to: 'j', tenant: 'acme', action: 'a1', fence: 1 },
    ...{ token_sha256: '0'.repeat(64), body_sha256: '0'.repeat(64), store_epoch: 'e', outcome },
  });

  test.each([
    ['NUL', 'no \0 such', 'no \ufffd such'],
    ['half of a pair', 'cut \ud83d', 'cut \ufffd'],
  ])('%s: the answer is read, with a replacement', (_what, detail, read) => {
    const failed = claims({ kind: 'failed', errorCode: 'provider_refused', detail });
    expect(HostAnswerSchema.parse(failed).outcome).toMatchObject({ kind: 'failed', detail: read });
  });

  test.each([
    ['a line that is none', { note: 'a\r\nb\u202ec', percent: 3 }, { note: 'a  b c', percent: 3 }],
    [
      'NUL and half of a pair',
      { note: 'a\0b\ud83d', percent: 0 },
      { note: 'a b\ufffd', percent: 0 },
    ],
    ['a long note', { note: 'n'.repeat(501), percent: 1 }, { note: 'n'.repeat(500), percent: 1 }],
    ['a share that is none', { note: 'n', percent: 101 }, { note: 'n', percent: null }],
    ['half a percent', { note: 'n', percent: 12.5 }, { note: 'n', percent: 13 }],
    ['no share', { note: 'n' }, { note: 'n', percent: null }],
    ['no progress at all', 'half way', null],
  ])('%s costs no answer', (_what, progress, read) => {
    const outcome = HostAnswerSchema.parse(claims({ kind: 'running', progress })).outcome;
    expect(outcome).toEqual({ kind: 'running', progress: read });
  });

  test('a host cuts a long detail, and mends the pair that it cuts through', () => {
    const long = `${'x'.repeat(1_999)}\ud83d\ude42 more`;
    const kept = storable({ kind: 'failed', errorCode: 'provider_refused', detail: long });
    expect(kept).toMatchObject({ kind: 'failed', detail: `${'x'.repeat(1_999)}\ufffd` });
  });
});
