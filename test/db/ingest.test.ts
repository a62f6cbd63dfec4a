/**
 * Storing verified and refused requests in a real Postgres, as waybill_data. Asserted are the answers
 * and the rows behind them.
 */
import { Client } from 'pg';
import type { VerifiedRequest } from '../../src/db/deliveries';
import { ingestDelivery, rejectDelivery } from '../../src/db/deliveries';
import { findIngress } from '../../src/db/ingresses';
import { ingressRef } from '../../src/domain/ids';
import type { IngestAnswer } from '../../src/schemas/delivery-rows';
import type { CatalogFixture } from '../support/catalog-fixture';
import { insertCatalog } from '../support/catalog-fixture';
import { storedDelivery, verifiedRequest } from '../support/stored-deliveries';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase, testPool } from '../support/test-database';
import { until } from '../support/until';

let db: TestDatabase;
let acme: CatalogFixture;

beforeAll(async () => {
  db = await createTestDatabase();
  acme = await insertCatalog(db);
});
afterAll(() => db.drop());

const ingest = (request: VerifiedRequest): Promise<IngestAnswer> =>
  ingestDelivery(db.as('waybill_data'), request);

const statesOf = async (dedupKey: string): Promise<string[]> => {
  const text = `select state from waybill.deliveries where dedup_key = $1 order by state`;
  return (await db.rows<{ state: string }>(text, [dedupKey])).map(({ state }) => state);
};

const age = (dedupKey: string) =>
  db.rows(`update waybill.dedup_keys set expires_at = clock_timestamp() where dedup_key = $1`, [
    dedupKey,
  ]);

/** Is about to store this payload until the answered function is called, which leaves nothing of it. */
async function hold(payload: Uint8Array): Promise<() => Promise<void>> {
  const holder = new Client({ connectionString: db.url });
  await holder.connect();
  await holder.query('begin');
  await holder.query(
    'insert into waybill.artifacts (tenant_id, sha256, content) values ($1, sha256($2), $2)',
    [acme.tenant, payload],
  );
  return () => holder.end();
}

const blocked = (application: string) =>
  until(`${application} waits for a lock`, async () => {
    const text = `select from pg_stat_activity where datname = current_database()
      and application_name = $1 and wait_event_type = 'Lock'`;
    return (await db.rows(text, [application])).length > 0 ? true : null;
  });

describe('a verified request', () => {
  test('is stored with its exact bytes, due to be attended to, and takes the key', async () => {
    const payload = Buffer.from([0xef, 0xbb, 0xbf, 0x00, 0xe9, 0x1f, 0x8b, 0x0d, 0x0a]);
    const request = verifiedRequest(acme, { payload, attendAfterMs: 60_000 });
    expect(await ingest(request)).toMatchObject({
      outcome: 'accepted',
      firstDeliveryId: request.deliveryId,
    });
    const [row] = await db.rows(
      `select a.content, d.state, d.payload_bytes, d.evidence,
          d.attend_at - d.received_at = interval '60 seconds' as attended
        from waybill.deliveries d
        join waybill.artifacts a on a.tenant_id = d.tenant_id and a.sha256 = d.payload_sha256
        where d.delivery_id = $1`,
      [request.deliveryId],
    );
    expect(row).toEqual({
      content: payload,
      state: 'Received',
      payload_bytes: 9,
      evidence: { scheme: 'hmac', secretId: 'current', skewMs: null },
      attended: true,
    });
  });

  test('of zero bytes is a delivery like any other', async () => {
    const payload = Buffer.alloc(0);
    expect(await ingest(verifiedRequest(acme, { payload }))).toMatchObject({ outcome: 'accepted' });
    expect(await ingest(verifiedRequest(acme, { payload }))).toMatchObject({ outcome: 'accepted' });
  });

  test('twenty copies at once are one delivery and nineteen duplicates that name it', async () => {
    const wide = testPool(db.url, 'waybill_data', { maxConnections: 20 });
    const requests = Array.from({ length: 20 }, () => verifiedRequest(acme, { dedupKey: 'same' }));
    const answers = await Promise.all(requests.map((request) => ingestDelivery(wide, request)));
    await wide.close();
    const outcomes = answers.map(({ outcome }) => outcome).sort();
    expect(outcomes).toEqual(['accepted', ...Array<string>(19).fill('duplicate')]);
    const named = new Set(
      answers.map((answer) => 'firstDeliveryId' in answer && answer.firstDeliveryId),
    );
    expect(named.size).toBe(1);
    expect(await statesOf('same')).toEqual([...Array<string>(19).fill('Deduplicated'), 'Received']);
  });

  test('whose connection is lost before the commit leaves nothing, and the copy that waited is accepted', async () => {
    const first = testPool(db.url, 'waybill_data', { applicationName: 'waybill-first' });
    const second = testPool(db.url, 'waybill_data', { applicationName: 'waybill-second' });
    const [lost, copy] = [
      verifiedRequest(acme, { dedupKey: 'lost', payload: Buffer.from('lost') }),
      verifiedRequest(acme, { dedupKey: 'lost', payload: Buffer.from('lost') }),
    ];
    // Bytes are stored once the key is taken.
    const release = await hold(lost.payload);
    const losing = ingestDelivery(first, lost);
    await blocked('waybill-first');
    const waiting = ingestDelivery(second, copy);
    await blocked('waybill-second');
    const kill = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'waybill-first'`;
    await Promise.all([
      expect(losing).rejects.toMatchObject({ code: 'storage_unavailable' }),
      db.rows(kill),
    ]);
    await release();
    expect(await waiting).toMatchObject({ outcome: 'accepted', firstDeliveryId: copy.deliveryId });
    expect(await statesOf('lost')).toEqual(['Received']);
    await Promise.all([first.close(), second.close()]);
  });

  test('with a known key and other bytes is a recorded conflict that keeps both payloads', async () => {
    const first = verifiedRequest(acme, { dedupKey: 'conflict', payload: Buffer.from('one') });
    const second = verifiedRequest(acme, { dedupKey: 'conflict', payload: Buffer.from('two') });
    await ingest(first);
    expect(await ingest(second)).toMatchObject({
      outcome: 'conflict',
      firstDeliveryId: first.deliveryId,
    });
    const [row] = await db.rows(
      `select state, conflict, duplicate_of, (select convert_from(content, 'UTF8') from
          waybill.artifacts where sha256 = payload_sha256) as content
        from waybill.deliveries where delivery_id = $1`,
      [second.deliveryId],
    );
    expect(row).toEqual({
      ...{ state: 'Deduplicated', conflict: true, content: 'two' },
      duplicate_of: first.deliveryId,
    });
  });

  test('is new again once the window is over, for one of two at once', async () => {
    await ingest(verifiedRequest(acme, { dedupKey: 'aged' }));
    await age('aged');
    const both = await Promise.all([
      ingest(verifiedRequest(acme, { dedupKey: 'aged' })),
      ingest(verifiedRequest(acme, { dedupKey: 'aged' })),
    ]);
    expect(both.map(({ outcome }) => outcome).sort()).toEqual(['accepted', 'duplicate']);
  });

  test('is remembered for the window of the settings, as they are when it comes', async () => {
    await db.rows('update waybill.settings set replay_window_minutes = 5');
    await ingest(verifiedRequest(acme, { dedupKey: 'window' }));
    const [row] = await db.rows(
      `select expires_at - clock_timestamp() between interval '4 minutes' and interval '5 minutes' as five
        from waybill.dedup_keys where dedup_key = 'window'`,
    );
    await db.rows('update waybill.settings set replay_window_minutes = 60');
    expect(row).toEqual({ five: true });
  });

  test('meets no key of another subscription or tenant', async () => {
    const globex = await insertCatalog(db, { tenant: 'globex' });
    const second = await insertCatalog(db, { subscription: 'second' });
    for (const fixture of [acme, globex, second]) {
      const answer = await ingest(verifiedRequest(fixture, { dedupKey: 'shared' }));
      expect(answer.outcome).toBe('accepted');
    }
  });

  test('a burst writes the subscription once a minute', async () => {
    const burst = await insertCatalog(db, { subscription: 'burst' });
    const version = `select xmin::text from waybill.subscriptions where subscription_id = 'burst'`;
    await ingest(verifiedRequest(burst));
    const [first] = await db.rows(version);
    await Promise.all(Array.from({ length: 5 }, () => ingest(verifiedRequest(burst))));
    expect(await db.rows(version)).toEqual([first]);
  });
});

describe('freshness is judged by the database clock, as of receipt', () => {
  const signed = (agoMs: number) =>
    verifiedRequest(acme, {
      dedupKey: `signed-${agoMs}`,
      freshness: { signedAtMs: Date.now() - agoMs, toleranceMs: 300_000, aheadMs: 60_000 },
    });

  test.each([
    ['just within the tolerance', 290_000, 'accepted'],
    ['now', 0, 'accepted'],
    ['a little ahead', -50_000, 'accepted'],
  ])('signed %s: accepted', async (_name, agoMs, outcome) => {
    expect(await ingest(signed(agoMs))).toMatchObject({ outcome });
  });

  test.each([
    ['too old', 310_000],
    ['too far ahead', -70_000],
    ['in seconds where milliseconds were meant', Date.now() - Date.now() / 1000],
  ])('signed %s: rejected, and its key is not taken', async (_name, agoMs) => {
    const stale = signed(agoMs);
    expect(await ingest(stale)).toMatchObject({ outcome: 'stale' });
    expect(await storedDelivery(db, stale)).toMatchObject({
      ...{ state: 'Rejected', reason: 'signature_stale', attend_at: null },
    });
    const fresh = verifiedRequest(acme, { dedupKey: stale.dedupKey });
    expect(await ingest(fresh)).toMatchObject({ outcome: 'accepted' });
  });
});

describe('a refused request', () => {
  const why = { reason: 'signature_mismatch', detail: 'no secret matches' };

  test('is recorded with its bytes for a bounded time, starts nothing and takes no key', async () => {
    const refused = verifiedRequest(acme, { dedupKey: 'refused' });
    await rejectDelivery(db.as('waybill_data'), refused, why);
    expect(await storedDelivery(db, refused)).toMatchObject({
      ...{ state: 'Rejected', reason: 'signature_mismatch', attend_at: null, event_seq: 0 },
    });
    const [kept] = await db.rows(
      `select content, expires_at between clock_timestamp() + interval '59 minutes'
          and clock_timestamp() + interval '60 minutes' as for_an_hour
        from waybill.rejected_payloads where delivery_id = $1`,
      [refused.deliveryId],
    );
    expect(kept).toEqual({ content: refused.payload, for_an_hour: true });
    expect(await ingest(verifiedRequest(acme, { dedupKey: 'refused' }))).toMatchObject({
      outcome: 'accepted',
    });
  });

  test('keeps no bytes once a tenant has 64 MiB of them: anybody can send such requests', async () => {
    const first = verifiedRequest(acme, {});
    await rejectDelivery(db.as('waybill_data'), first, why);
    await db.rows('update waybill.rejected_payloads set size_bytes = 64 * 1024 * 1024');
    const next = verifiedRequest(acme, {});
    await rejectDelivery(db.as('waybill_data'), next, why);
    expect(await storedDelivery(db, next)).toMatchObject({ state: 'Rejected' });
    const kept = await db.rows('select from waybill.rejected_payloads where delivery_id = $1', [
      next.deliveryId,
    ]);
    expect(kept).toHaveLength(0);
    await db.rows('delete from waybill.rejected_payloads');
  });

  test('one subscription takes a quarter of them, and leaves the rest to the others', async () => {
    await rejectDelivery(db.as('waybill_data'), verifiedRequest(acme, {}), why);
    const resized = 'update waybill.rejected_payloads set size_bytes = 16 * 1024 * 1024';
    await db.rows(resized);
    const same = verifiedRequest(acme, {});
    await rejectDelivery(db.as('waybill_data'), same, why);
    await db.rows(`${resized}, subscription_id = 'another'`);
    const other = verifiedRequest(acme, {});
    await rejectDelivery(db.as('waybill_data'), other, why);
    const kept = await db.rows<{ id: string }>(
      `select delivery_id::text as id from waybill.rejected_payloads where subscription_id <> 'another'`,
    );
    expect(kept).toEqual([{ id: other.deliveryId }]);
    await db.rows('delete from waybill.rejected_payloads');
  });

  test('leaves no artifact behind', async () => {
    const refused = verifiedRequest(acme, { payload: Buffer.from('refused bytes') });
    await rejectDelivery(db.as('waybill_data'), refused, why);
    const rows = await db.rows(`select from waybill.artifacts where content = 'refused bytes'`);
    expect(rows).toHaveLength(0);
  });
});

describe('an ingress', () => {
  test('is found by its exact reference without a tenant', async () => {
    const found = await findIngress(db.as('waybill_data'), ingressRef(acme.ingressRef));
    expect(found).toMatchObject({ tenantId: 'acme', subscriptionId: 'pushes', state: 'active' });
    expect(await findIngress(db.as('waybill_data'), ingressRef('nobody-here'))).toBeNull();
  });

  test.each([
    [`update waybill.subscriptions set state = 'paused'`, 'paused'],
    [`update waybill.subscriptions set state = 'deactivated'`, 'deactivated'],
    [`update waybill.instances set status = 'revoked'`, 'deactivated'],
    [`update waybill.instances set status = 'disabled'`, 'paused'],
    [`update waybill.connectors set enabled = false`, 'paused'],
    [`update waybill.connector_versions set status = 'revoked'`, 'deactivated'],
    [`update waybill.connector_versions set status = 'deprecated'`, 'active'],
  ])('after %s is %s', async (change, state) => {
    const other = await createTestDatabase();
    const { ingressRef: ref } = await insertCatalog(other);
    await other.rows(change);
    expect(await findIngress(other.as('waybill_data'), ingressRef(ref))).toMatchObject({ state });
    await other.drop();
  });
});
