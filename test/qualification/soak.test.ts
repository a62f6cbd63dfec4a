/**
 * The ledger at the end of a soak. Real: Postgres, signatures, the product's own steps, the
 * provider's records. Nothing is broken here but the records: each doctored one is found in its own count.
 */
import { SOUND_LEDGER, type Ledger } from '../../src/qualification/families/soak';
import { ledgerOf, type Accepted, type TargetEntry } from '../../src/qualification/judging/ledger';
import { poolOf } from '../../src/qualification/site/databases';
import { postgresLedger } from '../../src/qualification/provider/postgres-ledger';
import { publicKeySet } from '../../src/signing/keys';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { insertCatalog } from '../support/catalog-fixture';
import { acknowledged } from '../support/signed-chains';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { cancelAction, testKey } from '../support/test-signer';

describe('the ledger', () => {
  let db: TestDatabase;
  let provider: TestDatabase;
  const accepted = {
    actions: ['one', 'two'],
    events: { durable: ['event-1'], express: [], switched: [] },
  };
  const target: TargetEntry[] = [];

  const readsOf = (database: TestDatabase) => ({
    query: async ({ text }: { readonly text: string }, values: readonly unknown[]) =>
      await database.rows(text, values),
  });
  const ledger = async (
    claims: Accepted = accepted,
    entries: readonly TargetEntry[] = target,
  ): Promise<Ledger> =>
    await ledgerOf(
      {
        ...{ waybill: readsOf(db), provider: readsOf(provider), target: entries },
        ...{ keys: publicKeySet([await testKey()]), wrongCounters: 0 },
      },
      claims,
    );

  beforeAll(async () => {
    [db, provider] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    const rig = new Rig(postgresFixture(db));
    await rig.account({ instance: 'tracker' });
    for (const action of accepted.actions) await rig.start(action);
    for (const action of accepted.actions) await cancelAction(db, 'acme', action);
    const { deliveryId } = await acknowledged(db, await insertCatalog(db), {
      externalId: 'event-1',
    });
    target.push({ deliveryId, sha256: 'bytes-1', status: 200 });
    const pool = poolOf(provider.url, 'provider');
    await postgresLedger(pool);
    await pool.close();
  });
  afterAll(async () => {
    await Promise.all([db.drop(), provider.drop()]);
  });

  /** The counts that are not 0 with this done to the records, which is then undone. */
  async function red(...doctored: readonly string[]): Promise<readonly string[]> {
    for (const one of [db, provider]) {
      await one.rows('begin');
      // No guard and no foreign key: what the product would refuse is to be found all the same.
      await one.rows('set local session_replication_role = replica');
    }
    try {
      for (const text of doctored) {
        const isEffect = /^insert into (effects|approvals)/.test(text);
        await (isEffect ? provider : db).rows(text);
      }
      return notSound(await ledger());
    } finally {
      for (const one of [db, provider]) await one.rows('rollback');
    }
  }

  const EFFECT = (id: string, reference: string) =>
    `insert into effects values ('${id}', 'acme-tickets', 'ticket', '${reference}', 't', null, 0, 0, null)`;
  /** Over and done, as its receipt says. */
  const END = (state: string, outcome: string) => [
    `update waybill.actions set state = '${state}', result_outcome = '${outcome}' where action_id = 'one'`,
    `update waybill.receipts set kind = 'action_${state}' where subject = 'action/one'`,
  ];
  /** A second attempt that was opened before the first one was closed. */
  const OVERLAP = `insert into waybill.delivery_attempts
    select (jsonb_populate_record(t, jsonb_build_object('attempt_no', 2,
      'opened_at', t.closed_at - interval '1 millisecond'))).* from waybill.delivery_attempts t`;
  const EXTERNAL = `update waybill.capabilities set side_effect = 'external'`;

  test('is sound where nothing was doctored, whatever was done', async () => {
    expect(await ledger()).toEqual(SOUND_LEDGER);
    expect(await red(...END('completed', 'succeeded'), EFFECT('e1', 'one'))).toEqual([]);
    const approved = `insert into approvals values (default, 0, 'acme-tickets', 'yes', 'e1')`;
    const approval = `update waybill.actions set approval_id = 'yes' where action_id = 'one'`;
    const done = [...END('completed', 'succeeded'), EXTERNAL, approval, EFFECT('e1', 'one')];
    expect(await red(...done, approved)).toEqual([]);
  });

  test('misses what was accepted and is not there', async () => {
    const events = { durable: ['event-1', 'event-2'], express: ['event-3'], switched: ['event-4'] };
    const lost = { actions: [...accepted.actions, 'lost'], events };
    expect(notSound(await ledger(lost))).toEqual([
      'accepted actions that are not there',
      'durable: accepted events that are not there',
      'express: accepted events that are not there',
      'accepted events of a changed lane that are not there',
    ]);
  });

  test.each<[string, readonly string[]]>([
    [
      'actions that are neither at an end nor waiting for a person',
      [
        `update waybill.actions set state = 'dispatching', closed_at = null, attend_at = now()
          where action_id = 'one'`,
      ],
    ],
    [
      'actions with an open attempt',
      [
        `insert into waybill.route_attempts (tenant_id, action_id, attempt_no, owner, fence, replica_id,
            incarnation, health_revision, probe, counters, deadline_at)
          values ('acme', 'one', 1, 'x', 1, 'x', 1, 1, false, '[]', now())`,
      ],
    ],
    [
      'durable: deliveries that are not at an end',
      [
        `update waybill.deliveries set state = 'Dispatched', settled_at = null, attend_at = now()`,
        `delete from waybill.receipts where subject like 'delivery/%'`,
      ],
    ],
    [
      'durable: deliveries with an open attempt',
      [`update waybill.delivery_attempts set closed_at = null, outcome = null`],
    ],
    ['durable: deliveries with attempts that overlap', [OVERLAP]],
    [
      "durable: attempts by the loop that are not the loop's",
      [`update waybill.delivery_attempts set owner = 'express@1'`],
    ],
    [
      'actions with more than one effect',
      [...END('completed', 'succeeded'), EFFECT('e1', 'one'), EFFECT('e2', 'one')],
    ],
    ['effects of no action', [EFFECT('e1', 'nobody')]],
    ['completed mutations without their effect', END('completed', 'succeeded')],
    ['failed actions with an effect', [...END('failed', 'failed'), EFFECT('e1', 'one')]],
    [
      'effects without the approval that they need',
      [...END('completed', 'succeeded'), EXTERNAL, EFFECT('e1', 'one')],
    ],
    [
      'receipt chains that do not verify',
      [
        `update waybill.receipts set jws = overlay(jws placing 'AAAA' from length(jws) - 3)
          where subject = 'action/one'`,
      ],
    ],
    ['ends without their receipt', [`delete from waybill.receipts where subject = 'action/one'`]],
    [
      'ends without their receipt',
      [
        `insert into waybill.receipts (tenant_id, subject, seq, kind, jws, digest, previous_digest)
          select tenant_id, subject, seq + 1, kind, jws, digest, digest from waybill.receipts
            where subject = 'action/one' order by seq desc limit 1`,
      ],
    ],
  ])('is red in: %s', async (what, doctored) => {
    const found = await red(...doctored);
    expect(found).toContain(what);
    // A chain that says its end twice does not verify either.
    const besides = 'receipt chains that do not verify';
    expect(found.filter((one) => one !== what && one !== besides)).toEqual([]);
  });

  test('is red in: events that are there more than once', async () => {
    const again = `insert into waybill.deliveries
      select (jsonb_populate_record(d, jsonb_build_object('delivery_id', gen_random_uuid(),
        'dedup_key', 'other'))).* from waybill.deliveries d`;
    expect(await red(again)).toEqual([
      'durable: events that are there more than once',
      'durable: acknowledged deliveries that the target did not take',
      'ends without their receipt',
    ]);
  });

  test('is red in the lane that it was in', async () => {
    const moved = `update waybill.deliveries set lane = 'express'`;
    const missing = 'durable: accepted events that are not there';
    expect(await red(moved)).toEqual([missing]);
    expect(await red(moved, OVERLAP)).toEqual([
      missing,
      'express: deliveries with attempts that overlap',
    ]);
    const byLoop = `update waybill.delivery_attempts set owner = 'express@1'`;
    expect(await red(moved, byLoop)).toEqual([missing]);
    expect(await red(moved, OVERLAP, byLoop)).toEqual([
      missing,
      'express: deliveries with attempts that overlap',
      "express: attempts by the loop that are not the loop's",
    ]);
  });

  test('counts what is of a subscription that changed its lane in the lane of its row, and in both where it is there twice', async () => {
    const events = { durable: [], express: [], switched: ['event-1'] };
    expect(await ledger({ ...accepted, events })).toEqual(SOUND_LEDGER);
    const besides = `insert into waybill.deliveries
      select (jsonb_populate_record(d, jsonb_build_object('delivery_id', gen_random_uuid(),
        'dedup_key', 'other', 'lane', 'express'))).* from waybill.deliveries d`;
    expect(await red(besides)).toEqual([
      'durable: events that are there more than once',
      'express: events that are there more than once',
      'express: acknowledged deliveries that the target did not take',
      'ends without their receipt',
    ]);
  });

  test('is red where the target got something else', async () => {
    const [taken] = target;
    if (taken === undefined) throw new Error('it took one');
    expect(notSound(await ledger(accepted, []))).toEqual([
      'durable: acknowledged deliveries that the target did not take',
    ]);
    expect(notSound(await ledger(accepted, [taken, { ...taken, deliveryId: 'else' }]))).toEqual([
      'durable: events with more than one id at the target',
      'ids at the target that no delivery has',
    ]);
  });
});

function notSound(ledger: Ledger): readonly string[] {
  return Object.entries<number>({ ...ledger }).flatMap(([what, n]) => (n === 0 ? [] : [what]));
}
