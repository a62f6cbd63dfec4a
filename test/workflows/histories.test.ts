/**
 * Histories of earlier builds replay on this one: a deploy breaks no workflow that is under way.
 * `WAYBILL_RECORD_HISTORIES=1` records them anew, which is right only when a release begins.
 */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { DeliveryRig } from '../support/delivery-rig';
import { SCENARIOS } from '../support/history-scenarios';
import { workflowBundle } from '../support/workflow-bundle';

const FOLDER = path.join(__dirname, '..', 'histories');

beforeAll(async () => {
  if (process.env['WAYBILL_RECORD_HISTORIES'] !== '1') return;
  const rig = await DeliveryRig.start();
  await rig.work();
  mkdirSync(FOLDER, { recursive: true });
  for (const [name, live] of Object.entries(SCENARIOS)) {
    const ref = await live(rig);
    const history = await rig.handle(ref).fetchHistory();
    writeFileSync(path.join(FOLDER, `${name}.json`), historyToJSON(history));
  }
  await rig.stop();
});

function recorded(name: string): unknown {
  return JSON.parse(readFileSync(path.join(FOLDER, `${name}.json`), 'utf8'));
}

function replay(history: unknown): Promise<void> {
  return Worker.runReplayHistory(
    { workflowBundle: { codePath: workflowBundle() }, replayName: 'histories' },
    history,
    'delivery/acme/recorded',
  );
}

test('every scenario has its history', () => {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  expect(names.map((name) => path.basename(name, '.json')).sort()).toEqual(
    Object.keys(SCENARIOS).sort(),
  );
});

test.each(Object.keys(SCENARIOS))('%s replays', async (name) => {
  await expect(replay(recorded(name))).resolves.toBeUndefined();
});

test('a history of another workflow code is told apart', async () => {
  const text = readFileSync(path.join(FOLDER, 'acknowledged-at-once.json'), 'utf8');
  const foreign: unknown = JSON.parse(text.replaceAll('attemptDelivery', 'somethingElse'));
  await expect(replay(foreign)).rejects.toThrow(DeterminismViolationError);
});
