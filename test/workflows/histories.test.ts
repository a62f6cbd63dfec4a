/**
 * Histories of earlier builds replay on this one: a deploy breaks no workflow that is under way.
 * `WAYBILL_RECORD_HISTORIES=1` records them anew, which is right only when a release begins.
 */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { ACTION_SCENARIOS } from '../support/action-history-scenarios';
import { ActionRig } from '../support/action-rig';
import { BULK_REPLAY_SCENARIOS } from '../support/bulk-replay-history-scenarios';
import { BulkReplayRig } from '../support/bulk-replay-rig';
import { CERTIFY_SCENARIOS } from '../support/certify-history-scenarios';
import { CertifyRig } from '../support/certify-rig';
import { DeliveryRig } from '../support/delivery-rig';
import { SCENARIOS } from '../support/history-scenarios';
import { workflowBundle } from '../support/workflow-bundle';

const FOLDER = path.join(__dirname, '..', 'histories');

beforeAll(async () => {
  if (process.env['WAYBILL_RECORD_HISTORIES'] !== '1') return;
  mkdirSync(FOLDER, { recursive: true });
  await recordDeliveries();
  await recordActions();
  await recordBulkReplays();
  await recordCertifications();
}, 180_000);

async function recordDeliveries(): Promise<void> {
  const rig = await DeliveryRig.start();
  await rig.work();
  for (const [name, live] of Object.entries(SCENARIOS)) {
    keep(name, await rig.handle(await live(rig)).fetchHistory());
  }
  await rig.stop();
}

async function recordActions(): Promise<void> {
  const rig = await ActionRig.start();
  await rig.work();
  await rig.host(0);
  for (const [name, live] of Object.entries(ACTION_SCENARIOS)) {
    keep(name, await rig.handle(await live(rig)).fetchHistory());
  }
  await rig.stop();
}

async function recordBulkReplays(): Promise<void> {
  const bulk = await BulkReplayRig.start();
  await bulk.work();
  for (const [name, live] of Object.entries(BULK_REPLAY_SCENARIOS)) {
    keep(name, await bulk.handle(await live(bulk)).fetchHistory());
  }
  await bulk.stop();
}

async function recordCertifications(): Promise<void> {
  const certify = await CertifyRig.start();
  await certify.work();
  for (const [name, live] of Object.entries(CERTIFY_SCENARIOS)) {
    keep(name, await certify.handle(await live(certify)).fetchHistory());
  }
  await certify.stop();
}

function keep(name: string, history: Parameters<typeof historyToJSON>[0]): void {
  writeFileSync(path.join(FOLDER, `${name}.json`), historyToJSON(history));
}

const NAMES = [
  ...Object.keys(SCENARIOS),
  ...Object.keys(ACTION_SCENARIOS),
  ...Object.keys(BULK_REPLAY_SCENARIOS),
  ...Object.keys(CERTIFY_SCENARIOS),
];

function recorded(name: string): unknown {
  return JSON.parse(readFileSync(path.join(FOLDER, `${name}.json`), 'utf8'));
}

function replay(history: unknown): Promise<void> {
  return Worker.runReplayHistory(
    { workflowBundle: { codePath: workflowBundle() }, replayName: 'histories' },
    history,
    'acme/recorded',
  );
}

test('every scenario has its history', () => {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  expect(names.map((name) => path.basename(name, '.json')).sort()).toEqual([...NAMES].sort());
});

test.each(NAMES)('%s replays', async (name) => {
  await expect(replay(recorded(name))).resolves.toBeUndefined();
});

test('a history of another workflow code is told apart', async () => {
  const text = readFileSync(path.join(FOLDER, 'acknowledged-at-once.json'), 'utf8');
  const foreign: unknown = JSON.parse(text.replaceAll('attemptDelivery', 'somethingElse'));
  await expect(replay(foreign)).rejects.toThrow(DeterminismViolationError);
});
