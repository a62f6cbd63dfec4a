/**
 * Receipts of actions: what must be provable is written with its receipt, in a real Postgres as waybill_data, with
 * real signatures; hosts' answers are given. Verdicts: rows, and the check of the chain with the public key alone.
 */
import { decodeJwt } from 'jose';
import {
  beginDispatch,
  beginFencing,
  closeDispatch,
  concludeFencing,
  giveUpAction,
  resolveAction,
  settleLost,
} from '../../../src/db/action-steps';
import { showAction } from '../../../src/db/action-lists';
import { routeOperator } from '../../../src/db/route-operations';
import type { ActionRef } from '../../../src/domain/action-service';
import { tenantId } from '../../../src/domain/ids';
import type { ActionReceiptFacts, WantedActionReceipt } from '../../../src/domain/receipts';
import { expectedReceipt } from '../../../src/services/actions/receipts';
import { publicKeySet } from '../../../src/signing/keys';
import { verifyReceiptChain } from '../../../src/signing/receipts/verify-chain';
import { Rig } from '../../registry/fixture';
import { postgresFixture } from '../../registry/postgres-fixture';
import { createTestDatabase, testPool, type TestDatabase } from '../../support/test-database';
import { cancelAction, testKey, testSigner } from '../../support/test-signer';

let db: TestDatabase;
let rig: Rig;
beforeAll(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  await rig.fixture.change({ settings: { replicaLeaseMs: 600_000 } });
  await rig.account();
  await rig.host({ replica: 'host', capacity: 1_000 });
});
afterAll(() => db.drop());

const data = () => db.as('waybill_data');
const refTo = (actionId: string): ActionRef => ({ tenantId: tenantId('acme'), actionId });
const asked = (ref: ActionRef, about: Partial<ActionReceiptFacts> = {}) => ({
  expected: null,
  sign: testSigner(ref, about),
});

/** The kinds of the chain, which verifies, and ends where the row says. */
async function chainOf(actionId: string): Promise<string[]> {
  const receipts = await db.rows<{ kind: string; jws: string }>(
    `select kind, jws from waybill.receipts where subject = 'action/' || $1 order by seq`,
    [actionId],
  );
  const jws = receipts.map((receipt) => receipt.jws);
  if (jws.length > 0) {
    expect(await verifyReceiptChain(jws, publicKeySet([await testKey()]))).toEqual({
      ...{ ok: true, problems: [] },
    });
  }
  const [row] = await db.rows('select receipt_seq as n from waybill.actions where action_id = $1', [
    actionId,
  ]);
  expect(row).toEqual({ n: receipts.length });
  return receipts.map(({ kind }) => kind);
}

async function dataOf(actionId: string): Promise<unknown> {
  const { receipts = [] } = (await showAction(data(), refTo(actionId))) ?? {};
  return decodeJwt(receipts.at(-1)?.jws ?? '')['data'];
}

/** Reserved and let go. */
async function sent(actionId: string) {
  const ref = refTo(actionId);
  const { fence } = (await rig.reserved(actionId)).reservation;
  const begun = await beginDispatch(data(), { ...ref, fence, resume: false });
  if (begun.answer.kind !== 'send') throw new Error(begun.answer.kind);
  return { ref, at: { ...ref, fence }, fence, receipts: begun.answer.receipts };
}

const DONE = {
  settlement: 'completed',
  unknownCause: null,
  evidence: {},
  result: { outcome: 'succeeded', errorCode: null, detail: null },
  resultBytes: Buffer.from('{"n":1}'),
} as const;
const LOST = {
  settlement: 'outcome_unknown',
  unknownCause: 'ours',
  evidence: {},
  result: null,
  resultBytes: null,
} as const;
const FOUND = { evidence: {}, adopted: null, resultBytes: null } as const;

/** Sent, and nobody knows; then asked about. */
async function inDoubt(actionId: string) {
  const { ref, at } = await sent(actionId);
  await closeDispatch(data(), at, LOST, asked(ref));
  const ask = { aboveFence: null, adopt: null };
  const begun = await beginFencing(data(), ref, ask, testSigner(ref, {}));
  if (begun.answer.kind !== 'ask') throw new Error(begun.answer.kind);
  return { ref, at: { ...ref, fence: begun.answer.fence } };
}

test('a clean end takes one statement and has one receipt, which says what came of it', async () => {
  const { ref, at, receipts, fence } = await sent('clean');
  const wanted: WantedActionReceipt[] = [];
  const sign = testSigner(ref, { fence, attempt: 1, replicaId: 'host', settlement: 'completed' });
  const expected = expectedReceipt(receipts, 'action_completed', 5);
  const closed = await closeDispatch(data(), at, DONE, {
    expected,
    sign: (one) => {
      wanted.push(one);
      return sign(one);
    },
  });
  expect(closed.kind).toBe('closed');
  expect(wanted).toEqual([expected]);
  expect(await chainOf('clean')).toEqual(['action_completed']);
  expect(await dataOf('clean')).toMatchObject({
    ...{ actionId: 'clean', capabilityId: 'tickets.create', fence, attempt: 1, by: null },
    ...{ replicaId: 'host', settlement: 'completed', errorCode: null },
  });
});

test('a step that is repeated appends nothing: what was attested is attested once', async () => {
  const { ref, at } = await sent('twice');
  await closeDispatch(data(), at, DONE, asked(ref));
  await closeDispatch(data(), at, DONE, asked(ref));
  expect(await chainOf('twice')).toEqual(['action_completed']);
  const lost = await sent('lost-twice');
  await settleLost(data(), lost.at, {}, testSigner(lost.ref, {}));
  await settleLost(data(), lost.at, {}, testSigner(lost.ref, {}));
  expect(await chainOf('lost-twice')).toEqual(['attempt_lost']);
});

test('doubt, what its host says, and the end are each attested', async () => {
  const { ref, at } = await inDoubt('cleared');
  await concludeFencing(data(), at, { ...FOUND, kind: 'not_started' }, asked(ref));
  await concludeFencing(data(), at, { ...FOUND, kind: 'not_started' }, asked(ref));
  expect(await chainOf('cleared')).toEqual(['attempt_settled', 'host_found']);
  const { ref: other, at: asking } = await inDoubt('found');
  const again = { ...FOUND, kind: 'again', reason: 'timed_out', detail: '', inMs: 1 } as const;
  await concludeFencing(data(), asking, again, asked(other));
  const result = { ...FOUND, kind: 'result', result: DONE.result } as const;
  await concludeFencing(data(), asking, result, asked(other));
  expect(await chainOf('found')).toEqual(['attempt_settled', 'action_completed']);
});

test('what is safe to do again, told twice, is attested once', async () => {
  const { ref, at } = await inDoubt('repeatable');
  const found = { ...FOUND, kind: 'repeatable', detail: '' } as const;
  await concludeFencing(data(), at, found, asked(ref));
  await concludeFencing(data(), at, found, asked(ref));
  expect(await chainOf('repeatable')).toEqual(['attempt_settled', 'host_found']);
  const why = { reason: 'deadline', detail: 'too late' };
  await giveUpAction(data(), ref, why, testSigner(ref, { finding: 'needs_operator' }));
  expect(await chainOf('repeatable')).toEqual(['attempt_settled', 'host_found', 'host_found']);
});

test.each(['completed', 'failed', 'cancelled', 'retry'] as const)(
  'what a person decides is attested with who and why: %s',
  async (outcome) => {
    const id = `person-${outcome}`;
    const { ref, at } = await inDoubt(id);
    const found = { ...FOUND, kind: 'needs_operator', reason: 'store_lost', detail: '' } as const;
    await concludeFencing(data(), at, found, asked(ref));
    const errorCode = outcome === 'failed' ? 'resolved_as_failed' : null;
    const who = { by: 'ada', reason: 'I looked' };
    const sign = testSigner(ref, { ...who, errorCode });
    await resolveAction(data(), ref, { outcome, ...who, errorCode }, sign);
    const kind = outcome === 'retry' ? 'action_retried' : `action_${outcome}`;
    expect(await chainOf(id)).toEqual(['attempt_settled', 'host_found', kind]);
    expect(await dataOf(id)).toMatchObject({ ...who, errorCode });
  },
);

test('a wish to stop, and a cancel before anything was sent, are attested', async () => {
  await sent('wish');
  expect((await cancelAction(db, 'acme', 'wish')).kind).toBe('requested');
  await cancelAction(db, 'acme', 'wish');
  expect(await chainOf('wish')).toEqual(['cancel_requested']);
  await rig.start('early');
  await cancelAction(db, 'acme', 'early');
  await cancelAction(db, 'acme', 'early');
  expect(await chainOf('early')).toEqual(['action_cancelled']);
  expect(await dataOf('early')).toMatchObject({ by: 'ada', reason: 'x' });
});

test('what is given up, withdrawn and moved is attested', async () => {
  await rig.start('hopeless');
  const why = { reason: 'no_binding', detail: '' };
  const sign = testSigner(refTo('hopeless'), { errorCode: 'no_binding', reason: 'no_binding' });
  await giveUpAction(data(), refTo('hopeless'), why, sign);
  expect(await chainOf('hopeless')).toEqual(['action_failed']);
  const { fence } = (await rig.reserved('moved')).reservation;
  await settleLost(data(), { ...refTo('moved'), fence }, {}, testSigner(refTo('moved'), {}));
  const operator = routeOperator(data(), testSigner);
  const begun = await operator.beginRepin(refTo('moved'), null);
  if (begun.kind !== 'seal') throw new Error(begun.kind);
  const at = { ...refTo('moved'), fence: begun.fence };
  await operator.concludeRepin(at, { by: 'ada', reason: 'gone' }, {});
  expect(await chainOf('moved')).toEqual(['attempt_withdrawn', 'action_repinned']);
  expect(await dataOf('moved')).toMatchObject({ by: 'ada', reason: 'gone', fence: begun.fence });
});

test('a receipt over a head that has moved is signed anew, and nothing was written before', async () => {
  const { ref, at, receipts } = await sent('raced');
  await cancelAction(db, 'acme', 'raced');
  const expected = expectedReceipt(receipts, 'action_completed', 0);
  await closeDispatch(data(), at, DONE, { expected, sign: testSigner(ref, {}) });
  expect(await chainOf('raced')).toEqual(['cancel_requested', 'action_completed']);
});

test('many write to one action at once: one chain, without a gap', async () => {
  const pool = testPool(db.url, 'waybill_data', { maxConnections: 8 });
  try {
    const { ref, at } = await sent('crowded');
    await Promise.all([
      ...[1, 2, 3].map(() => closeDispatch(pool, at, DONE, asked(ref))),
      ...[1, 2].map(() => settleLost(pool, at, {}, testSigner(ref, {}))),
      ...[1, 2].map(() => cancelAction(db, 'acme', 'crowded')),
    ]);
    const chain = await chainOf('crowded');
    expect(chain.filter((kind) => kind === 'action_completed')).toHaveLength(1);
    expect(chain.at(-1)).toBe('action_completed');
  } finally {
    await pool.close();
  }
});

test('nothing is closed without its receipt: the database asks for it', async () => {
  await rig.start('bare');
  const [row] = await db.rows<{ answer: { kind: string; wanted: { kind: string } } }>(
    `select waybill.request_cancel('acme', 'bare', 'ada', 'x', null) as answer`,
  );
  expect(row?.answer).toMatchObject({ kind: 'sign', wanted: { kind: 'action_cancelled' } });
  expect(await chainOf('bare')).toEqual([]);
});
