/**
 * Certifying on a real Temporal server and a real Postgres, against the reference host over its
 * provider. Doubled: nothing. One story, in order.
 */
import { createHash } from 'node:crypto';
import { isSignedStatement } from '../../src/signing/evidence/verify';
import { readStatement } from '../../src/schemas/evidence-statements';
import { CertifyRig, DRAFT } from '../support/certify-rig';

let certify: CertifyRig;

beforeAll(async () => {
  certify = await CertifyRig.start();
  await certify.work();
});
afterAll(() => certify.stop());

test('without a host of the sandbox it fails, and says so', async () => {
  expect(await certify.certify()).toEqual({ state: 'failed' });
  const [row] = await certify.rig.db.rows<{ state: string; reason: string }>(
    'select state, reason from waybill.certifications',
  );
  expect(row).toEqual({
    state: 'failed',
    reason: 'no host of the instance sandbox is registered',
  });
  expect(await certify.status()).toBe('draft');
});

test('a host that breaks a rule fails, and the case says what was sent and what came back', async () => {
  await certify.host(['r2', 'r1']);
  // The author calls a request valid that the provider refuses.
  const wrong = { 'tickets.read': { valid: [{ recordId: 'nobody.has-it' }], invalid: [] } };
  expect(await certify.certify({ requests: wrong })).toEqual({ state: 'failed' });
  const [row] = await certify.rig.db.rows<{ results: Record<string, { id: string }[]> }>(
    'select results from waybill.certifications',
  );
  const failed = Object.values(row?.results ?? {})
    .flat()
    .filter((one) => 'verdict' in one && one.verdict === 'failed');
  expect(failed).toMatchObject([
    {
      id: 'capabilities/valid/tickets.read',
      rule: expect.stringMatching(/^Answers: /) as string,
      why: expect.stringMatching(/the outcome is failed record_not_found/) as string,
      exchanges: [{ sent: expect.stringMatching(/^PUT .*nobody.has-it/) as string }],
    },
  ]);
  expect(await certify.status()).toBe('draft');
  await certify.stopHost();
});

test('a good one passes once: two who ask at once, and whoever asks later, get one evidence', async () => {
  await certify.host();
  const [one, other] = await Promise.all([certify.ask(), certify.ask()]);
  expect(new Set([one.answer, other.answer])).toEqual(new Set(['started', 'running']));
  const run = { ...DRAFT, run: 3 };
  expect(await Promise.all([certify.end(run), certify.end(run)])).toEqual([
    { state: 'passed' },
    { state: 'passed' },
  ]);
  expect(await certify.status()).toBe('certified');
  expect((await certify.ask()).answer).toBe('passed');
  const found = await certify.rig.db.rows<{ statement: string; content: Buffer; ref: string }>(
    `select e.statement, a.content, v.certification_ref as ref from waybill.evidence_statements e
      join waybill.artifacts a on encode(a.sha256, 'hex') = e.content_digest
      join waybill.connector_versions v using (connector_id, version)`,
  );
  expect(found).toHaveLength(1);
  const [{ statement = '', content = Buffer.alloc(0), ref = '' } = {}] = found;
  const digest = createHash('sha256').update(content).digest('hex');
  expect(await isSignedStatement(statement)).toBe(true);
  expect(readStatement(statement)).toMatchObject({
    ...{ connector: 'tickets', version: '1.1.0', kind: 'conformance', verdict: 'pass' },
    ...{ artifactDigest: 'a'.repeat(64), contentDigest: digest, contentRef: ref },
    signer: certify.services.signingKey.publicJwk.x,
  });
  const report = JSON.parse(content.toString('utf8')) as {
    cases: { id: string; verdict: string; durationMs: number }[];
  };
  expect(report).toMatchObject({ suiteVersion: DRAFT.suiteVersion, run: 3, counts: { failed: 0 } });
  expect(report.cases.length).toBeGreaterThan(50);
  expect(report.cases.filter(({ verdict }) => verdict === 'skipped').map(({ id }) => id)).toEqual([
    ...['lifecycle/register', 'lifecycle/heartbeat', 'lifecycle/drain'],
  ]);
});

test('with conformance required, it may become active now', async () => {
  await certify.publish([
    { kind: 'Settings', requiredEvidence: ['conformance'] },
    { ...certify.document, status: 'active' },
  ]);
  expect(await certify.status()).toBe('active');
});
