/**
 * SIGKILL of a real worker process, and of the Temporal server, in the middle of a certification; the
 * Temporal server is this test's own. Doubled: nothing. Verdict: the rows, the stored report, and the
 * cases in it.
 */
import { rmSync } from 'node:fs';
import path from 'node:path';
import type { TemporalServer } from '../../src/workers/embedded/temporal-server';
import { CertifyRig, DRAFT } from '../support/certify-rig';
import { serverFolder, temporalIn } from '../support/embedded-servers';

let folder: string;
let temporal: TemporalServer;
let certify: CertifyRig;

beforeAll(async () => {
  folder = serverFolder('waybill-certify-');
  temporal = await temporalIn(folder, { databaseFile: path.join(folder, 'temporal.db') });
  certify = await CertifyRig.start(temporal.address);
  await certify.host();
});
afterAll(async () => {
  await certify.stop();
  await temporal.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('killed after a group was tried, with the Temporal server, and before the verdict, it yields one evidence', async () => {
  expect((await certify.ask()).answer).toBe('started');
  const run = { ...DRAFT, run: 1 };
  await certify.start(run);
  const first = await certify.worker('certification.tried');
  await first.heldAt('certification.tried');
  await temporal.kill('SIGKILL');
  await first.kill();
  await temporal.start();
  const second = await certify.worker('certification.judged');
  await second.heldAt('certification.judged');
  await second.kill();
  expect(await certify.evidence()).toEqual([]);
  await certify.worker();
  expect(await certify.handle(run).result()).toEqual({ state: 'passed' });
  const [only, ...more] = await certify.evidence();
  expect(more).toEqual([]);
  const ids = only?.report.cases.map(({ id }) => id) ?? [];
  expect(new Set(ids).size).toBe(ids.length);
  expect(only?.report).toMatchObject({ run: 1, counts: { failed: 0 } });
  expect(await certify.status()).toBe('certified');
});
