/**
 * SIGKILL of a real worker process in the middle of a certification. Doubled: nothing. Verdict: the
 * rows, the stored report, and the cases in it.
 */
import type { PointName } from '../../src/points';
import { CertifyRig, DRAFT } from '../support/certify-rig';

let certify: CertifyRig;

beforeAll(async () => {
  certify = await CertifyRig.start();
  await certify.host();
});
afterAll(() => certify.stop());

test('killed after it has tried a group, and again before the verdict, it yields one evidence', async () => {
  const asked = await certify.ask();
  expect(asked.answer).toBe('started');
  const end = certify.end({ ...DRAFT, run: 1 });
  const points: readonly PointName[] = ['certification.tried', 'certification.judged'];
  for (const point of points) {
    const doomed = await certify.worker(point);
    await doomed.heldAt(point);
    await doomed.kill();
    expect(await certify.evidence()).toHaveLength(0);
  }
  await certify.worker();
  expect(await end).toEqual({ state: 'passed' });
  const [only, ...more] = await certify.evidence();
  expect(more).toEqual([]);
  const ids = only?.report.cases.map(({ id }) => id) ?? [];
  expect(new Set(ids).size).toBe(ids.length);
  expect(only?.report).toMatchObject({ run: 1, counts: { failed: 0 } });
  expect(await certify.status()).toBe('certified');
});
