/**
 * The example connectors at a Waybill: published, registered, and used for actions. Real: their
 * processes and products, the lifecycle service, Postgres, Temporal, a worker. Doubled: nothing.
 * Verdicts: rows, and effects counted at their products.
 */
import { showAction } from '../../src/db/action-lists';
import { readFleet } from '../../src/schemas/fleet';
import { publishFleet } from '../../src/services/publications';
import { freePort } from '../../src/workers/embedded/ports';
import { TENANT } from '../support/action-fleet';
import { ActionRig } from '../support/action-rig';
import { replicaReaches } from '../support/replicas';
import { until } from '../support/until';
import { ExampleHost, PYTHON, TYPESCRIPT, committedManifest } from './support/example-connectors';
import { exampleFleet } from './support/example-fleet';

let rig: ActionRig;
beforeAll(async () => {
  rig = await ActionRig.start();
  await rig.work();
});
afterAll(() => rig.stop());

describe.each([TYPESCRIPT, PYTHON])('the $language connector', (example) => {
  let host: ExampleHost;
  let port: number;
  const replicaId = `${example.connectorId}-1`;
  const start = async (latencyMs = 0): Promise<void> => {
    await host.start({ lifecycle: rig.lifecycleUrl }, { port, latencyMs });
    await replicaReaches(rig.db, replicaId, 'ready');
  };

  beforeAll(async () => {
    const identity = {
      ...{ tenantId: TENANT, instanceId: `${example.connectorId}-acme`, version: '1.0.0' },
      ...{ replicaId, credentialRevisions: ['r1'] },
    };
    port = await freePort();
    host = await ExampleHost.describe(example, identity);
    const fleet = exampleFleet(await committedManifest(example, host.folder), identity, {
      did: host.did,
      port,
    });
    await publishFleet(rig.db.as('waybill_control'), readFleet(fleet, new Map()), 'test');
    await start();
  }, 120_000);
  afterAll(() => host.remove());

  const newOrder = () => rig.order(example.capability, { text: 'Broken lamp' });

  test('an action is carried out once, and started again it has its result', async () => {
    const order = newOrder();
    await rig.actions.start(order);
    await rig.reaches(order, 'completed');
    await rig.actions.start(order);
    expect(await host.effects(order.actionId)).toBe(1);
  });

  test('killed between effect and result, and started again, it is asked and knows', async () => {
    await host.stop();
    await start(5_000);
    const order = newOrder();
    await rig.actions.start(order);
    await until('the effect is there', async () =>
      (await host.effects(order.actionId)) === 1 ? true : null,
    );
    await host.kill();
    await until('its answer is lost', async () => ((await rig.row(order)).uncertain ? true : null));
    await start();
    await rig.reaches(order, 'completed', 30_000);
    expect(await host.effects(order.actionId)).toBe(1);
  });

  test('asked to end, it drains, finishes what is open, and says that it is offline', async () => {
    await host.stop();
    await start(1_000);
    const order = newOrder();
    await rig.actions.start(order);
    await until('the effect is there', async () =>
      (await host.effects(order.actionId)) === 1 ? true : null,
    );
    await host.stop();
    await replicaReaches(rig.db, replicaId, 'offline');
    await rig.reaches(order, 'completed');
    expect(await host.effects(order.actionId)).toBe(1);
    await start();
  });

  if (example === PYTHON) {
    test('long work shows how far it is, and is cancelled', async () => {
      const order = rig.order('digests.build', { text: 'Yearly', parts: 600 });
      await rig.actions.start(order);
      const progress = await until('it says how far it is', async () => {
        return (await showAction(rig.services.data, order))?.progress;
      });
      expect(progress.note).toMatch(/^part \d+ of 600$/);
      await rig.actions.cancel(order, { cancelledBy: 'ada', reason: 'not needed' });
      await rig.reaches(order, 'cancelled');
      expect(await host.effects(order.actionId)).toBe(0);
    });
  }
});

test('nothing is left open or counted', async () => {
  expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
});
