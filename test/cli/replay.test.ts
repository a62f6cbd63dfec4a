/**
 * `waybill replay` against real API and worker processes. Real: all processes, Postgres, Temporal, the
 * target. Doubled: the incident's failed deliveries. Asserted: pages, JSON, failures.
 */
import { randomUUID } from 'node:crypto';
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { BulkReplay, ReplayItemPage } from '../../src/schemas/api-bulk-replays';
import { failedInOneGo } from '../support/bulk-replays';
import type { CatalogFixture } from '../support/catalog-fixture';
import { FaultRig } from '../support/fault-rig';
import { failureOf, lastFailureOf, removeHomes, waybill, type Environment } from './waybill';

const REASON = ['--reason', 'target repaired'];

let faults: FaultRig;
let fixture: CatalogFixture;
let url: string;
let env: Environment;

beforeAll(async () => {
  faults = await FaultRig.start('deliveries,operations');
  fixture = await faults.rig.catalog();
  ({ url } = await faults.api());
  await faults.worker();
  env = { WAYBILL_HOME: faults.home, WAYBILL_API_URL: url, WAYBILL_TENANT: fixture.tenant };
});
afterAll(async () => {
  await faults.stop();
  removeHomes();
});

const replay = (...args: string[]) => waybill(['replay', ...args], env);

async function planned(...args: string[]): Promise<BulkReplay> {
  const { stdout } = await replay('plan', ...REASON, ...args, '--json');
  return BulkReplay.parse(JSON.parse(stdout));
}

test('a plan is a page with what would be replayed, and the command that does it', async () => {
  await failedInOneGo(faults.rig.db, fixture, 12);
  const filters = ['--subscription', fixture.subscription, '--event', 'push', '--since', '1h'];
  const { code, stdout, stderr } = await replay('plan', ...filters, ...REASON, '--rate', '5');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^state +planned$/m);
  expect(stdout).toMatch(/^what +subscription pushes, eventType push, receivedFrom /m);
  expect(stdout).toMatch(/^planned +12$/m);
  expect(stdout).toMatch(/^oldest +\d{4}-.*\nnewest +\d{4}-/m);
  expect(stdout).toMatch(/^takes +about 3 s$/m);
  expect(stdout).toMatch(/^THE OLDEST OF THEM\n +DELIVERY +EVENT/m);
  expect(stdout).toMatch(/^nothing is replayed yet: `waybill replay run [0-9a-f-]{36} --watch`$/m);
  expect((await planned('--failed-with', 'timed_out')).planned).toBe(0);
});

test('a run that is watched tells how far it is, and ends with the receipt', async () => {
  const { jobId } = await planned();
  const { code, stdout, stderr } = await replay('run', jobId, '--watch');
  expect(code).toBe(0);
  expect(stderr).toMatch(/^\d+ of 12 dealt with, \d+ acknowledged/);
  expect(stdout).toMatch(new RegExp(`^${jobId} is finished$`, 'm'));
  expect(stdout).toMatch(
    /^planned +12\nreplayed +12\nacknowledged +12\nfailed again +0\nreceipt /m,
  );
  const shown = await replay('show', jobId, '--json');
  const { receipt } = BulkReplay.parse(JSON.parse(shown.stdout));
  const keys = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as JSONWebKeySet;
  const { payload } = await compactVerify(receipt ?? '', createLocalJWKSet(keys));
  expect(JSON.parse(Buffer.from(payload).toString())).toMatchObject({
    ...{ subject: `replay/${jobId}`, state: 'finished' },
    counts: { planned: 12, acknowledged: 12 },
  });
  const verified = await waybill(['receipt', 'verify'], env, shown.stdout);
  expect(verified.stdout).toContain(`ok: replay/${jobId} of tenant ${fixture.tenant} is finished`);
  const items = await replay('items', jobId, '--outcome', 'acknowledged', '--json');
  expect(ReplayItemPage.parse(JSON.parse(items.stdout)).items).toHaveLength(12);
});

let cancelled = '';

test('a job is paused, resumed and cancelled, each said in a line', async () => {
  await failedInOneGo(faults.rig.db, fixture, 40);
  const { jobId } = await planned('--rate', '1');
  cancelled = jobId;
  const lines = [];
  for (const args of [['run'], ['pause', '--reason', 'lunch'], ['resume'], ['cancel']]) {
    const [move = '', ...more] = args;
    lines.push((await replay(move, jobId, ...more)).stdout);
  }
  const show = `see \`waybill replay show ${jobId}\`\n`;
  expect(lines).toEqual([
    `${jobId} is running; see \`waybill replay watch ${jobId}\`\n`,
    ...['paused', 'running', 'cancelled'].map((state) => `${jobId} is ${state}; ${show}`),
  ]);
});

test('a cancelled job is watched to its receipt, listed, and never run again', async () => {
  const watched = await replay('watch', cancelled);
  expect(watched.stdout).toMatch(/ is cancelled by /);
  expect(watched.stdout).toMatch(/^left +\d+$/m);
  // A program that waits for it is not to go on as if all had got through.
  expect(lastFailureOf(watched)).toMatchObject({
    code: 'replay_incomplete',
    message: expect.stringMatching(
      /is cancelled: of 40, \d+ acknowledged, 0 failed again/,
    ) as string,
  });
  const again = failureOf(await replay('run', cancelled));
  expect(again.code).toBe('replay_refused');
  expect(again.message).toContain('cancelled');
  const listed = await replay('list', '--state', 'cancelled');
  expect(listed.stdout).toMatch(/^JOB +STATE +PLANNED/);
  expect(listed.stdout).toContain(cancelled);
});

test('what is not there, or is no rate, is told in one line', async () => {
  expect(failureOf(await replay('show', randomUUID())).code).toBe('not_found');
  const wrong = await replay('plan', ...REASON, '--rate', '0');
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('from 1 to 100')]);
});
