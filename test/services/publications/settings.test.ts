/**
 * Settings change what runs already, without a restart: the pools of the code that uses them are open
 * before the publication and used again after it. A real Postgres.
 */
import { ingestDelivery, rejectDelivery } from '../../../src/db/deliveries';
import { registryAdministrator } from '../../../src/db/replicas';
import { retainActions } from '../../../src/db/route-upkeep';
import { Rig } from '../../registry/fixture';
import { postgresFixture } from '../../registry/postgres-fixture';
import { insertCatalog } from '../../support/catalog-fixture';
import { account, binding, capability, fleetOf, replica, tracker } from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';
import { open, receive, verifiedRequest } from '../../support/stored-deliveries';
import { cancelAction } from '../../support/test-signer';

const { db, apply } = publishing();

test('the lease of a replica is that of the newest publication from its next heartbeat on', async () => {
  await apply(fleetOf(capability(), tracker(), account(), binding(), replica()));
  const hosts = registryAdministrator(db().as('waybill_lifecycle'));
  const call = (nth: number) => ({
    ...{ replicaId: 'host-1', requestId: `call-${nth}`, previousSequence: nth },
  });
  const leaseMs = async (answer: ReturnType<typeof hosts.register>) => {
    const given = await answer;
    return given.kind === 'accepted' ? Math.ceil(given.leaseMs / 1000) * 1000 : given;
  };
  expect(await leaseMs(hosts.register({ ...call(0), storeEpoch: 'epoch-1' }))).toBe(30_000);
  await apply('kind: Settings\nreplicaLease: 7s\n');
  expect(await leaseMs(hosts.heartbeat({ ...call(1), healthy: true }))).toBe(7_000);
});

test('the dedup window is that of the newest publication from the next delivery on', async () => {
  const acme = await insertCatalog(db());
  const data = db().as('waybill_data');
  const window = async (): Promise<number> => {
    const request = verifiedRequest(acme);
    await ingestDelivery(data, request);
    const [row] = await db().rows<{ minutes: number }>(
      `select round(extract(epoch from expires_at - clock_timestamp()) / 60)::integer as minutes
        from waybill.dedup_keys where dedup_key = $1`,
      [request.dedupKey],
    );
    return row?.minutes ?? -1;
  };
  expect(await window()).toBe(60);
  await apply('kind: Settings\nreplayWindowMinutes: 5\n');
  expect(await window()).toBe(5);
});

test('the default retry is that of the newest publication from the next attempt on', async () => {
  const acme = await insertCatalog(db());
  for (const table of ['subscriptions', 'connector_versions']) {
    await db().rows(`update waybill.${table} set retry_profile = null`);
  }
  const attempts = async () => (await open(db(), await receive(db(), acme))).info.retry.attempts;
  expect(await attempts()).toBe(5);
  await apply('kind: Settings\ndefaultRetry: { attempts: 2, backoff: [1s] }\n');
  expect(await attempts()).toBe(2);
});

test('rejected bytes are kept for as long as the newest publication says', async () => {
  const acme = await insertCatalog(db());
  const data = db().as('waybill_data');
  const minutes = async () => {
    const request = verifiedRequest(acme);
    await rejectDelivery(data, request, { reason: 'signature_mismatch', detail: 'x' });
    const [row] = await db().rows<{ minutes: number }>(
      `select round(extract(epoch from expires_at - clock_timestamp()) / 60)::integer as minutes
        from waybill.rejected_payloads where delivery_id = $1`,
      [request.deliveryId],
    );
    return row?.minutes;
  };
  expect(await minutes()).toBe(60);
  await apply('kind: Settings\nrejectedBytesMinutes: 7\n');
  expect(await minutes()).toBe(7);
});

describe('of a registry at work', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = new Rig(postgresFixture(db()));
    await rig.account();
    await rig.host({ replica: 'h1' });
  });
  const circuits = async () => (await rig.registry.fleet.status()).circuitsNotClosed;

  test('a circuit opens, stays open and is probed as the newest publication says', async () => {
    await rig.run('a1', 'outcome_unknown');
    expect(await circuits()).toBe(0);
    await apply('kind: Settings\ncircuitUnknowns: 2\ncircuitOpen: 100ms\ncircuitProbes: 1\n');
    await rig.run('a2', 'outcome_unknown');
    expect(await circuits()).toBe(1);
    await rig.fixture.elapse(100);
    expect((await rig.reserved('a3')).reservation.probe).toBe(true);
    expect(await rig.reserve('a4')).toMatchObject({ why: 'circuit_open' });
    await apply('kind: Settings\ncircuitProbes: 2\n');
    expect((await rig.reserved('a4')).reservation.probe).toBe(true);
  });

  test('readiness changes after as many heartbeats as the newest publication says', async () => {
    expect(await rig.call('h1', 'unhealthy')).toMatchObject({ status: 'ready' });
    await apply('kind: Settings\nreplicaHysteresis: 2\n');
    expect(await rig.call('h1', 'unhealthy')).toMatchObject({ status: 'registered' });
  });

  test('closed actions and tombstones are kept for as long as the newest publication says', async () => {
    const retain = () => retainActions(db().as('waybill_operations'), 10);
    await rig.reserved('a1');
    await cancelAction(db(), 'acme', 'a1');
    await db().rows(`update waybill.actions set closed_at = closed_at - interval '3 days'`);
    expect(await retain()).toMatchObject({ actions: 0 });
    await apply('kind: Settings\nactionRetentionDays: 2\n');
    expect(await retain()).toMatchObject({ actions: 1, tombstones: 0 });
    await db().rows(
      `update waybill.action_tombstones set buried_at = buried_at - interval '99 days'`,
    );
    expect(await retain()).toMatchObject({ tombstones: 0 });
    // It outlives its receipts, and the time that any are kept.
    await apply('kind: Settings\ntombstoneRetentionDays: 4\nretention: { receiptDays: 98 }\n');
    expect(await retain()).toMatchObject({ tombstones: 0 });
    await db().rows('delete from waybill.receipts');
    expect(await retain()).toMatchObject({ tombstones: 1 });
  });
});
