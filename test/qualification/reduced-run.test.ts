/**
 * The reduced matrix as a person runs it, and the check of the evidence that it leaves. Real: everything; it is
 * run once, and each test looks at the evidence or at a copy that it spoils. Asserted: what the run says, what is
 * left of it, and that no spoilt copy is taken for evidence.
 */
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { digestsOf, DIGESTS_FILE } from '../../src/qualification/evidence/folder';
import { verifyEvidence } from '../../src/qualification/verify/verify';
import { processState } from '../../src/workers/embedded/process-identity';
import type { Finished } from '../cli/one-process';
import { failureOf, finished, lastFailureOf, startWaybill, waybill } from '../cli/waybill';
import { until } from '../support/until';

const RUN_MS = 480_000;

const folder = mkdtempSync(path.join(tmpdir(), 'waybill-evidence-'));
const evidence = path.join(folder, 'run');
let run: Finished;
let second: Finished;

beforeAll(async () => {
  const running = finished(startWaybill(['qualify', '--evidence', evidence, '--reduced'], {}));
  await until('it has taken its folder', () => Promise.resolve(existsSync(evidence) || null));
  second = await waybill(['qualify', '--evidence', evidence, '--reduced'], {});
  run = await running;
}, RUN_MS);
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const json = (name: string): unknown => JSON.parse(readFileSync(path.join(evidence, name), 'utf8'));
const lines = (name: string) =>
  readFileSync(path.join(evidence, name), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);

test('every case passes, in order, and the matrix ends with complete', () => {
  expect({ code: run.code, said: run.stderr }).toMatchObject({ code: 0 });
  expect(run.stdout).toContain('passed: 5 of 5 cases');
  expect(
    lines('failure-matrix.jsonl').map(
      (line) => `${String(line['case'])} ${String(line['status'])}`,
    ),
  ).toEqual([
    'baseline passed',
    'idempotent-replay passed',
    'crash-windows passed',
    'database-outage passed',
    'database-recovery passed',
    'complete complete',
  ]);
});

test('the baseline has the topology and the eight operations of the matrix', () => {
  expect(json('qualification/summary.json')).toEqual({
    status: 'passed',
    cases: 8,
    gateways: 2,
    connector_instances: 3,
    connector_replicas: 4,
  });
  const operations = lines('qualification/operations.jsonl');
  expect(operations.map(({ no, status }) => ({ no, status }))).toEqual(
    [1, 2, 3, 4, 5, 6, 7, 8].map((no) => ({ no, status: 'passed' })),
  );
});

test('a second run cannot take the folder of the first', () => {
  expect(failureOf(second)).toMatchObject({ code: 'config_invalid' });
  expect(failureOf(second).message).toMatch(/not empty/);
});

test('nothing of it is left but the evidence', () => {
  const pids = lines('process-events.jsonl').flatMap(({ pid }) =>
    typeof pid === 'number' ? [pid] : [],
  );
  expect(pids.length).toBeGreaterThan(12);
  expect(pids.filter((pid) => processState(pid).alive)).toEqual([]);
  expect(json('teardown.json')).toMatchObject({
    ...{ processesLeft: [], endedByThemselves: [], secretsInLogs: {}, workspaceRemoved: true },
  });
});

test('the evidence holds, with the digest that the run printed', async () => {
  const digest = /sha256 ([0-9a-f]{64})/.exec(run.stdout)?.[1] ?? '';
  const { code, stdout } = await waybill(['qualify', 'verify', evidence, '--digest', digest], {});
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: 'reduced run, 5 cases: the evidence holds\n',
  });
  const other = await waybill(['qualify', 'verify', evidence, '--digest', '0'.repeat(64)], {});
  expect(failureOf(other).code).toBe('evidence_refused');
});

/** A copy of the evidence that this has changed; `sealed`: its digests are made anew. */
async function spoilt(change: (copy: string) => void, sealed: boolean): Promise<readonly string[]> {
  const copy = mkdtempSync(path.join(folder, 'copy-'));
  cpSync(evidence, copy, { recursive: true });
  change(copy);
  if (sealed) {
    const digests = { algorithm: 'sha256', files: digestsOf(copy) };
    writeFileSync(path.join(copy, DIGESTS_FILE), JSON.stringify(digests));
  }
  const { ok, problems } = await verifyEvidence(copy, null);
  rmSync(copy, { recursive: true, force: true });
  expect(ok).toBe(problems.length === 0);
  return problems;
}

function edit(name: string, from: string | RegExp, to: string): (copy: string) => void {
  return (copy) => {
    const file = path.join(copy, name);
    const text = readFileSync(file, 'utf8');
    const changed = text.replace(from, to);
    if (changed === text) throw new Error(`${name} does not hold ${String(from)}`);
    writeFileSync(file, changed);
  };
}

function without(name: string): (copy: string) => void {
  return (copy) => {
    rmSync(path.join(copy, name));
  };
}

test('any file that is missing, altered or added is named', async () => {
  const names = readdirSync(evidence, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== DIGESTS_FILE)
    .map((entry) => path.relative(evidence, path.join(entry.parentPath, entry.name)));
  expect(names.length).toBeGreaterThan(40);
  const gone = await spoilt((copy) => {
    for (const name of names) without(name)(copy);
  }, false);
  expect(gone).toEqual(expect.arrayContaining(names.map((name) => `${name} is missing`)));
  const altered = await spoilt((copy) => {
    for (const name of names) {
      writeFileSync(path.join(copy, name), `${readFileSync(path.join(copy, name), 'utf8')} `);
    }
  }, false);
  expect(altered).toEqual(expect.arrayContaining(names.map((name) => `${name} was altered`)));
  const added = await spoilt((copy) => {
    writeFileSync(path.join(copy, 'more.json'), '{}');
  }, false);
  expect(added).toEqual(["more.json is not one of the run's files"]);
});

const WINDOWS = 'cases/03-crash-windows.json';

test.each([
  [
    'a finding that is not the accepted one',
    edit(WINDOWS, /("accepted": 1,\s+"found": )1/, '$12'),
    /2 instead of 1/,
  ],
  ['a finding that is left out', edit(WINDOWS, /"found": 1/, '"found": null'), /was not looked at/],
  [
    'an accepted value that is another',
    edit('plan.json', '"operations that passed": 8', '"operations that passed": 7'),
    /not a plan of this version/,
  ],
  [
    'a failure among the cases',
    edit('failure-matrix.jsonl', '"status":"passed"', '"status":"failed"'),
    /the matrix says failed/,
  ],
  [
    'a case that is not in the matrix',
    edit('failure-matrix.jsonl', /.*idempotent-replay.*\n/, ''),
    /each planned case once/,
  ],
  [
    'a matrix without its end',
    edit('failure-matrix.jsonl', /.*"complete".*\n/, ''),
    /complete at its end/,
  ],
  [
    'a later success over an earlier failure',
    edit('failure-matrix.jsonl', /(.*"baseline","status":")passed(.*\n)/, '$1failed$2$1passed$2'),
    /each planned case once/,
  ],
  [
    'a record of a case that is not there',
    without('cases/02-idempotent-replay.json'),
    /02-idempotent-replay.json is missing/,
  ],
  [
    'a fault that was not inflicted',
    edit('cases/02-idempotent-replay.json', '"kind": "kill"', '"kind": "stop"'),
    /not the faults of the family/,
  ],
  [
    'a kill that no event tells of',
    edit('process-events.jsonl', /.*host-globex-tickets-1.*"killed".*\n/, ''),
    /no event tells that host-globex-tickets-1 was killed/,
  ],
  [
    'a checkpoint that saw something else',
    edit(
      'crash/crash-windows/intent_persisted/checkpoint.json',
      'when it was killed": "intent"',
      'when it was killed": "none"',
    ),
    /contradicts the record/,
  ],
  [
    'a crash window without its retries',
    without('crash/crash-windows/intent_persisted/retries.json'),
    /retries.json is missing/,
  ],
  [
    'a receipt with another signature',
    edit(
      'crash/crash-windows/provider_effect_committed/result.json',
      /"jws": "(.{40})../,
      '"jws": "$1AA',
    ),
    /no whole chain of receipts/,
  ],
  [
    'a baseline operation that failed',
    edit('qualification/operations.jsonl', '"status":"passed"', '"status":"failed"'),
    /baseline operation 1 failed/,
  ],
  [
    'a baseline with a gateway less',
    edit('qualification/summary.json', '"gateways": 2', '"gateways": 1'),
    /not that of a baseline that passed/,
  ],
  ['a summary of another run', edit('run.json', /"runId": "./, '"runId": "z'), /is of another run/],
  [
    'a summary of another source',
    edit('source.json', '"name": "waybill"', '"name": "another"'),
    /different sources/,
  ],
  [
    'a summary with a failure',
    edit('summary.json', '"failures": []', '"failures": ["one"]'),
    /passed and names failures/,
  ],
  [
    'a process that ran on',
    edit('teardown.json', '"processesLeft": []', '"processesLeft": ["edge"]'),
    /edge runs on/,
  ],
  [
    'a secret in a log',
    edit('logs/edge.log', '{', '"d": "4TR-IwIhnpk4bqnqxQ1CnJZjY3MQM4Ghh9BmJMOJm0w" {'),
    /looks like a secret/,
  ],
])('evidence with %s is refused, also under digests of its own', async (_what, change, problem) => {
  expect(await spoilt(change, true)).toEqual(
    expect.arrayContaining([expect.stringMatching(problem)]),
  );
});

test('a copy that nobody has changed holds', async () => {
  expect(await spoilt(() => undefined, true)).toEqual([]);
});

test(
  'a run that is asked to end stops everything and says that it failed',
  async () => {
    const stopped = path.join(folder, 'stopped');
    const child = startWaybill(['qualify', '--evidence', stopped, '--case', 'baseline'], {});
    const events = path.join(stopped, 'process-events.jsonl');
    const ended = finished(child);
    await until('something of it runs', () => Promise.resolve(existsSync(events) || null), 120_000);
    child.kill('SIGINT');
    expect(lastFailureOf(await ended).code).toBe('interrupted');
    const summary = JSON.parse(readFileSync(path.join(stopped, 'summary.json'), 'utf8')) as object;
    expect(summary).toMatchObject({ status: 'failed', cases: { planned: 1, passed: 0 } });
    const pids = readFileSync(events, 'utf8').matchAll(/"pid":(\d+)/g);
    expect([...pids].filter(([, pid]) => processState(Number(pid)).alive)).toEqual([]);
    expect((await verifyEvidence(stopped, null)).ok).toBe(false);
  },
  RUN_MS,
);
