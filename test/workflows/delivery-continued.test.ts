/**
 * Deliveries whose history has become so long that they go on in a new run: a Temporal server of this
 * test's own says so early. Real: that server, Postgres, the target. Doubled: nothing.
 */
import { rmSync } from 'node:fs';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { tenantId } from '../../src/domain/ids';
import { switchTarget } from '../../src/db/target-flow';
import type { TemporalServer } from '../../src/workers/embedded/temporal-server';
import { DeliveryRig } from '../support/delivery-rig';
import { serverFolder, temporalIn } from '../support/embedded-servers';
import { until } from '../support/until';

/** Events after which the server suggests a new run. */
const SUGGESTED_AT = 40;
const STATE = defineSearchAttributeKey('WaybillState', 'KEYWORD');
const WAITING_SINCE = defineSearchAttributeKey('WaybillWaitingSince', 'DATETIME');

let folder: string;
let temporal: TemporalServer;
let rig: DeliveryRig;
beforeAll(async () => {
  folder = serverFolder('waybill-continued-');
  temporal = await temporalIn(folder, {
    dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': String(SUGGESTED_AT) },
  });
  const shared = process.env['WAYBILL_TEST_TEMPORAL_ADDRESS'];
  process.env['WAYBILL_TEST_TEMPORAL_ADDRESS'] = temporal.address;
  rig = await DeliveryRig.start();
  await rig.work();
  process.env['WAYBILL_TEST_TEMPORAL_ADDRESS'] = shared;
}, 60_000);
afterAll(async () => {
  await rig.stop();
  await temporal.stop();
  rmSync(folder, { recursive: true, force: true });
});

const run = async (ref: DeliveryRef) => await rig.handle(ref).describe();
const anotherRun = (ref: DeliveryRef, than: string) =>
  until('it goes on in a new run', async () => {
    const { runId, historyLength } = await run(ref);
    return runId !== than && historyLength < SUGGESTED_AT ? runId : null;
  });

async function refusedIntoAnotherRun(ref: DeliveryRef): Promise<void> {
  const { runId } = await run(ref);
  for (let sent = 0; sent < SUGGESTED_AT; sent += 1) {
    await rig.handle(ref).signal('replay', { by: 123 });
  }
  await anotherRun(ref, runId);
}

test('a delivery that is nudged without end goes on in new runs, and is found by what it is', async () => {
  const fixture = await rig.catalog({ subscription: 'nudged' });
  const at = { tenantId: tenantId('acme'), id: 'nudged-target', actor: 'ada', reason: 'x' };
  await switchTarget(rig.services.data, { ...at, pause: true });
  const ref = await rig.deliver(fixture, { heldPollMs: 600_000 });
  await rig.waits(ref);
  const { runId } = await run(ref);
  let last = runId;
  for (let runs = 0; runs < 2; runs += 1) {
    const before = last;
    last = await until('nudged into a new run', async () => {
      await rig.handle(ref).signal('nudge');
      const now = (await run(ref)).runId;
      return now === before ? null : now;
    });
  }
  await rig.waits(ref);
  await switchTarget(rig.services.data, { ...at, pause: false });
  await rig.reaches(ref, 'Acknowledged');
  await until('its page says so', async () => {
    const { typedSearchAttributes: of, status } = await run(ref);
    if (status.name !== 'COMPLETED') return null;
    return of.get(STATE) === 'Acknowledged' && of.get(WAITING_SINCE) === undefined ? true : null;
  });
});

test('replays that are refused without end fill no history of a delivery that waits', async () => {
  const fixture = await rig.catalog({ subscription: 'refused' });
  rig.receiver.answers.push({ status: 404 });
  const ref = await rig.deliver(fixture);
  await rig.waits(ref);
  await refusedIntoAnotherRun(ref);
  await rig.handle(ref).signal('replay', { by: 'ada', reason: 'repaired' });
  await rig.reaches(ref, 'Acknowledged');
  await expect(rig.handle(ref).result()).resolves.toEqual({ state: 'Acknowledged' });
});

test('replays that are refused without end fill no history between two attempts', async () => {
  const fixture = await rig.catalog({
    subscription: 'between',
    retry: {
      ...{ attempts: 2, jitter: 0, totalSpanMs: null, retryAfterCapMs: 0 },
      backoff: { kind: 'list', delaysMs: [600_000] },
    },
  });
  rig.receiver.answers.push({ status: 503 });
  const ref = await rig.deliver(fixture);
  await rig.waits(ref);
  await refusedIntoAnotherRun(ref);
  expect(await rig.row(ref)).toMatchObject({ state: 'Dispatched', attempts: 1 });
});
