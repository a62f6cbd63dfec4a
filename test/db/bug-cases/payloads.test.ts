/**
 * The fault: a NUL or half of a surrogate pair is refused by jsonb, and what happened is lost. Real:
 * Postgres, the schema through which a host's answer comes in, the product's calls as waybill_data.
 */
import { tenantId } from '../../../src/domain/ids';
import { FinalOutcomeSchema } from '../../../src/schemas/host-messages';
import { Rig } from '../../registry/fixture';
import { postgresFixture } from '../../registry/postgres-fixture';
import { imbalance } from '../../support/recount';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

let db: TestDatabase;
let rig: Rig;

beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  await rig.account();
  await rig.host({ replica: 'h1' });
});
afterEach(() => db.drop());

test.each([
  ['a NUL', 'a\u0000b', 'a\ufffdb'],
  ['a lone high surrogate', 'a\ud83d', 'a\ufffd'],
  ['a lone low surrogate', '\ude80b', '\ufffdb'],
  ['the escape of a NUL as text, which is legal', 'a\\u0000b', 'a\\u0000b'],
  ['a whole pair', '\u{1f680}', '\u{1f680}'],
])(
  '%s in what a host says: the attempt is settled and the rest is kept',
  async (_what, said, kept) => {
    const { reservation } = await rig.reserved('a1');
    const at = { tenantId: tenantId('acme'), actionId: 'a1', fence: reservation.fence };
    const outcome = FinalOutcomeSchema.parse({ kind: 'failed', errorCode: 'odd', detail: said });
    const { resolver } = rig.registry;
    const settle = { ...at, settlement: 'completed', unknownCause: null } as const;
    const evidence = { ...outcome };
    expect(await resolver.settleRoute({ ...settle, evidence })).toEqual({ kind: 'settled' });
    const result = { outcome: 'failed', resultSha256: null, errorCode: 'odd' } as const;
    expect(await resolver.recordResult(at, result, evidence)).toEqual({ kind: 'recorded' });
    const [row] = await db.rows(`select evidence->>'detail' as detail from waybill.route_attempts`);
    expect(row).toEqual({ detail: kept });
    expect(await imbalance(db)).toEqual([]);
  },
);

test.each([
  ['the escape of a NUL', '{"title":"a\\u0000b"}'],
  ['half of a pair', '{"title":"\\ud83d"}'],
  ['a key twice, and more digits than a number holds', '{"a":1,"a":12345678901234567890123}'],
])('%s in a request: its bytes are kept as they came', async (_what, text) => {
  const bytes = Buffer.from(text);
  const started = await rig.registry.ledger.startAction({
    ...{ tenantId: tenantId('acme'), actionId: 'a1', capabilityId: 'tickets.create' },
    ...{ request: bytes, affinityKey: null, requestedBy: 'ada' },
    ...{ deadlineMs: 60_000, retryBudget: 5, attendAfterMs: 2_000 },
  });
  expect(started.kind).toBe('started');
  const rows = await db.rows<{ content: Buffer }>('select content from waybill.artifacts');
  expect(rows.map(({ content }) => content.toString())).toEqual([text]);
});
