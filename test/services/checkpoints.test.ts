/**
 * Checkpoints and removal of receipts, in a real Postgres with real signatures. Chains are made by the product's
 * own steps; only time is moved by the administrator. Verdicts: rows, and the check of the export.
 */
import { Client } from 'pg';
import { tenantId, type TenantId } from '../../src/domain/ids';
import {
  CHAINS_A_CHECKPOINT,
  checkpointOnce,
  checkpointReceipts,
  removeReceipts,
  type CheckpointServices,
} from '../../src/services/checkpoints';
import { retainDelivered } from '../../src/services/delivery-retention';
import { exportReceipts } from '../../src/services/receipt-export';
import { publicKeySet } from '../../src/signing/keys';
import { verifyExport } from '../../src/signing/receipts/verify-export';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { acknowledged, attempted, failed, replay } from '../support/signed-chains';
import { open, receive } from '../support/stored-deliveries';
import { createTestDatabase, testPool, type TestDatabase } from '../support/test-database';
import { testKey } from '../support/test-signer';

let db: TestDatabase;
let acme: CatalogFixture;
let services: CheckpointServices;
beforeEach(async () => {
  db = await createTestDatabase();
  acme = await insertCatalog(db);
  services = { operations: db.as('waybill_operations'), signingKey: await testKey() };
});
afterEach(() => db.drop());

const never = new AbortController().signal;
const ACME = tenantId('acme');

async function exported(tenant: TenantId = ACME): Promise<string[]> {
  const from = { data: db.as('waybill_data'), signingKey: await testKey(), nowMs: Date.now };
  const lines: string[] = [];
  for await (const line of exportReceipts(from, tenant)) lines.push(line.trimEnd());
  return lines;
}

async function verdict(lines?: readonly string[]) {
  return await verifyExport(lines ?? (await exported()), publicKeySet([await testKey()]));
}

async function elapse(days: number): Promise<void> {
  const by = `make_interval(days => ${days})`;
  await db.rows(`update waybill.receipt_checkpoints set created_at = created_at - ${by}`);
  await db.rows(`update waybill.deliveries set settled_at = settled_at - ${by}`);
  await db.rows(`update waybill.dedup_keys set expires_at = expires_at - ${by}`);
}

async function count(from: string): Promise<number> {
  const [row] = await db.rows<{ n: number }>(`select count(*)::integer as n from waybill.${from}`);
  return row?.n ?? -1;
}

test('each closed chain is written down once, and again when it was closed anew', async () => {
  const again = await failed(db, acme);
  await acknowledged(db, acme);
  expect(await checkpointReceipts(services, never)).toEqual({ checkpoints: 1, more: false });
  expect(await checkpointReceipts(services, never)).toEqual({ checkpoints: 0, more: false });
  await replay(db, again);
  expect(await checkpointReceipts(services, never)).toEqual({ checkpoints: 0, more: false });
  await attempted(db, again, 'failed');
  expect(await checkpointReceipts(services, never)).toEqual({ checkpoints: 1, more: false });
  const leaves = await db.rows(
    `select checkpoint_no as no, seq from waybill.checkpoint_leaves
      where subject = 'delivery/' || $1 order by 1`,
    [again.deliveryId],
  );
  expect(leaves).toEqual([
    { no: 1, seq: 1 },
    { no: 2, seq: 3 },
  ]);
  expect(await verdict()).toMatchObject({ ok: true, chains: 2, checkpoints: 2 });
});

test('more chains than one checkpoint takes are several, and every tenant has its own', async () => {
  const umbrella = await insertCatalog(db, { tenant: 'umbrella' });
  await acknowledged(db, umbrella);
  await db.rows(
    `insert into waybill.receipts (tenant_id, subject, seq, kind, jws, digest)
      select 'acme', 'action/n' || n, 1, 'action_failed', 'x', repeat('0', 64)
        from generate_series(1, $1) n`,
    [CHAINS_A_CHECKPOINT + 1],
  );
  expect(await checkpointReceipts(services, never)).toEqual({ checkpoints: 3, more: false });
  expect(
    await db.rows(`select tenant_id, checkpoint_no as no, count(*)::integer as n
      from waybill.checkpoint_leaves group by 1, 2 order by 1, 2`),
  ).toEqual([
    { tenant_id: 'acme', no: 1, n: CHAINS_A_CHECKPOINT },
    { tenant_id: 'acme', no: 2, n: 1 },
    { tenant_id: 'umbrella', no: 1, n: 1 },
  ]);
});

test('several at once: every chain is in one checkpoint, and they follow each other', async () => {
  for (let nth = 0; nth < 5; nth += 1) await acknowledged(db, acme);
  const pool = testPool(db.url, 'waybill_operations', { maxConnections: 8 });
  try {
    await Promise.all(
      Array.from({ length: 8 }, () => checkpointOnce({ ...services, operations: pool }, 'acme')),
    );
  } finally {
    await pool.close();
  }
  expect(await count('checkpoint_leaves')).toBe(5);
  expect(await verdict()).toMatchObject({ ok: true, chains: 5, checkpoints: 1 });
});

test('appends of a tenant wait neither for each other nor for a checkpoint', async () => {
  const [slow, quick] = [await receive(db, acme), await receive(db, acme)];
  await acknowledged(db, acme);
  await Promise.all([open(db, slow), open(db, quick)]);
  const holder = new Client({ connectionString: db.url });
  await holder.connect();
  try {
    // One delivery is being closed, and does not commit; a checkpoint neither.
    await holder.query('begin');
    await holder.query('select from waybill.deliveries where delivery_id = $1 for update', [
      slow.deliveryId,
    ]);
    await holder.query(`insert into waybill.receipts (tenant_id, subject, seq, kind, jws, digest)
      values ('acme', 'delivery/' || gen_random_uuid(), 1, 'acknowledged', 'x', repeat('0', 64))`);
    await holder.query(`insert into waybill.receipt_checkpoints values
      ('acme', 1, 'chains', 'x', repeat('0', 64))`);
    await holder.query('update waybill.receipts set checkpoint_no = 1');
    const started = performance.now();
    const others = Array.from({ length: 10 }, () => acknowledged(db, acme));
    await Promise.all(others);
    expect(performance.now() - started).toBeLessThan(4_000);
    await holder.query('rollback');
  } finally {
    await holder.end();
  }
  expect(await count('receipts')).toBe(11);
});

describe('when their time is over', () => {
  async function aged(): Promise<void> {
    await checkpointReceipts(services, never);
    await elapse(401);
    await retainDelivered(services.operations, never);
  }

  test('receipts go with a checkpoint that says so, and nothing counts as lost', async () => {
    await failed(db, acme);
    await acknowledged(db, acme);
    await aged();
    const young = await acknowledged(db, acme);
    await checkpointReceipts(services, never);
    expect(await removeReceipts(services, never)).toEqual({ receipts: 2, more: false });
    expect(await db.rows('select subject from waybill.receipts')).toEqual([
      { subject: `delivery/${young.deliveryId}` },
    ]);
    const lines = await exported();
    expect(await verdict(lines)).toMatchObject({ ok: true, chains: 1, checkpoints: 2 });
    // Without the word of the removal they are missing.
    const silent = lines.filter((_, nth) => nth !== 1);
    const codes = (await verdict(silent)).problems.map(({ code }) => code);
    expect(codes).toEqual(['checkpoint_gap', 'checkpoints_cut']);
  });

  test('a chain that is deleted otherwise is lost, and is named', async () => {
    const ref = await acknowledged(db, acme);
    await checkpointReceipts(services, never);
    await db.rows('delete from waybill.receipts');
    const { problems } = await verdict();
    expect(problems).toMatchObject([
      { code: 'missing_chain', subject: `delivery/${ref.deliveryId}`, checkpoint: 1 },
    ]);
  });

  test('none goes before what it is about', async () => {
    await acknowledged(db, acme);
    await checkpointReceipts(services, never);
    await db.rows(
      `update waybill.receipt_checkpoints set created_at = created_at - interval '9 years'`,
    );
    expect(await removeReceipts(services, never)).toEqual({ receipts: 0, more: false });
    await elapse(401);
    await retainDelivered(services.operations, never);
    expect(await removeReceipts(services, never)).toEqual({ receipts: 1, more: false });
  });

  test('a chain that has gone on since stays whole', async () => {
    const again = await failed(db, acme);
    await acknowledged(db, acme);
    await checkpointReceipts(services, never);
    await replay(db, again);
    await elapse(401);
    await retainDelivered(services.operations, never);
    expect(await removeReceipts(services, never)).toEqual({ receipts: 1, more: false });
    expect(await count('receipts')).toBe(2);
    expect(await verdict()).toMatchObject({ ok: true, chains: 1 });
    await attempted(db, again, 'acknowledged');
    await checkpointReceipts(services, never);
    expect(await verdict()).toMatchObject({ ok: true, chains: 1, receipts: 3 });
  });

  test('removed while an export is read, they are still told apart from loss', async () => {
    await acknowledged(db, acme);
    await aged();
    await acknowledged(db, acme);
    await checkpointReceipts(services, never);
    const from = { data: db.as('waybill_data'), signingKey: await testKey(), nowMs: Date.now };
    const lines: string[] = [];
    for await (const line of exportReceipts(from, ACME)) {
      lines.push(line.trimEnd());
      // Both checkpoints have been read, and no chain.
      if (lines.length === 2) await removeReceipts(services, never);
    }
    expect(await verdict(lines)).toMatchObject({ ok: true, chains: 1, checkpoints: 3 });
  });
});
