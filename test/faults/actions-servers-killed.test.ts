/**
 * SIGKILL of the Postgres server and of the Temporal server while actions are under way, on servers of
 * this test's own. Doubled: nothing. Verdict: the provider's own records and the rows.
 */
import { ActionFaultRig, type Lane } from '../support/action-fault-rig';
import { startOwnServers, type OwnServers } from '../support/own-servers';

const CAPABILITIES = ['tickets.create', 'tickets.create_keyed', 'tickets.create_blind'];

let servers: OwnServers;
let faults: ActionFaultRig;
let lane: Lane;

beforeAll(async () => {
  servers = await startOwnServers();
  const { db, temporal } = servers;
  faults = await ActionFaultRig.start({ db, temporal: temporal.address });
  lane = faults.lane();
  await Promise.all([faults.host(0, { providerTimeoutMs: 20_000 }), lane.worker()]);
});

afterAll(async () => {
  await faults.stop();
  await servers.stop();
});

test.each([
  { name: 'Postgres', server: () => servers.postgres },
  { name: 'Temporal', server: () => servers.temporal },
])('$name is killed while the host works: the answer is written when it is back', async (of) => {
  await faults.holdAtProvider(CAPABILITIES.length);
  const refs = await Promise.all(CAPABILITIES.map((id) => lane.start(id)));
  await faults.heldAtProvider(CAPABILITIES.length);
  const server = of.server();
  await server.kill('SIGKILL');
  await faults.releaseProvider();
  await server.start();
  for (const ref of refs) {
    const row = await faults.completes(ref);
    expect(row.attempt).toMatchObject({ attemptNo: 1, settlement: 'completed' });
    await expect(faults.rig.handle(ref).result()).resolves.toEqual({ state: 'completed' });
  }
  await faults.balances();
});

test('an action that is asked for while Temporal is gone starts when it is back', async () => {
  await servers.temporal.kill('SIGKILL');
  const ref = await lane.start();
  await servers.temporal.start();
  await faults.completes(ref);
});
