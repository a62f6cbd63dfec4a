/**
 * Settings change what runs already, without a restart: the pools of the code that uses them are open
 * before the publication and used again after it. A real Postgres.
 */
import { ingestDelivery } from '../../../src/db/deliveries';
import { registryAdministrator } from '../../../src/db/replicas';
import { insertCatalog } from '../../support/catalog-fixture';
import { account, binding, capability, fleetOf, replica, tracker } from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';
import { verifiedRequest } from '../../support/stored-deliveries';

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
