/**
 * What a certification still may do once it is under way, and what is left of it: a revoked version, a
 * sandbox that is none any more, keys that count no longer, secrets of vectors. Real: Postgres, each part
 * under the role that it has in production, the schemes and their vectors. No workflow is run.
 */
import {
  concludeCertification,
  readCertification,
  requestCertification,
} from '../../src/db/certifications';
import { CONFORMANCE_GROUPS, SUITE_VERSION } from '../../src/domain/conformance';
import { tenantId } from '../../src/domain/ids';
import type { CertificationCases } from '../../src/schemas/conformance';
import type { CertificationServices } from '../../src/services/certification';
import { judgeCertification, tryConformanceGroup } from '../../src/services/certification';
import { loadShippedSchemes } from '../../src/schemas/shipped-schemes';
import { generateKeyText, importSigningKey } from '../../src/signing/keys';
import { ARTIFACT, evidence } from '../support/evidence-texts';
import {
  account,
  binding,
  capability,
  connector,
  fleetOf,
  instance,
  tracker,
} from '../support/fleet-texts';
import { publishing } from '../support/publishing';

const { db, apply, refusal } = publishing();
const HOOKS = { connectorId: 'github', version: '1.0.0', suiteVersion: SUITE_VERSION };
const TRACKER = { ...HOOKS, connectorId: 'tracker' };
const draft = ['status: draft', `artifactDigest: ${ARTIFACT}`];
const hooks = () => fleetOf(connector(...draft), instance());
/** An active version that nobody vouches for, and an account on it that nothing is routed to. */
const tickets = () => fleetOf(capability(), tracker(`artifactDigest: ${ARTIFACT}`), account());

let services: CertificationServices;
const key = async () => importSigningKey(await generateKeyText());
beforeEach(async () => {
  services = {
    ...{ operations: db().as('waybill_operations'), signingKey: await key() },
    ...{ nowMs: Date.now, shippedSchemes: loadShippedSchemes },
  };
});

async function ask(ref: typeof HOOKS, cases: Partial<CertificationCases> = {}) {
  return await requestCertification(db().as('waybill_data'), tenantId('acme'), ref, {
    ...{ instance: ref === HOOKS ? 'github' : 'main', by: 'ada' },
    signer: services.signingKey.publicJwk.x,
    cases: { requests: {}, vectors: [], credential: null, ...cases },
  });
}

const { signal } = new AbortController();
const tryGroup = (ref: typeof HOOKS, run: number, group: 'basics' | 'webhooks' = 'webhooks') =>
  tryConformanceGroup(services, { ...ref, run, group }, signal);
const judge = (ref: typeof HOOKS, run: number, reason: string | null = null) =>
  judgeCertification(services, { ...ref, run, reason });

/** All groups of a version that has no hosts, and the verdict. */
async function certify(run: number): Promise<string> {
  for (const group of CONFORMANCE_GROUPS)
    await tryConformanceGroup(services, { ...HOOKS, run, group }, signal);
  return (await judge(HOOKS, run)).state;
}

async function evidenceIds(): Promise<string[]> {
  const rows = await db().rows<{ id: string }>(
    'select evidence_id as id from waybill.evidence_statements order by issued_at',
  );
  return rows.map(({ id }) => id);
}

test('no binding of a sandbox begins to serve while a version is being certified on it', async () => {
  await apply(tickets());
  expect(await ask(TRACKER)).toMatchObject({ answer: 'started' });
  expect(await refusal(binding())).toEqual([
    expect.stringMatching(
      /^Binding .*instance: a version is being certified on this instance; wait/,
    ),
  ]);
  await apply(binding('enabled: false'));
  await judge(TRACKER, 1, 'it was cancelled');
  await apply(binding('policyRevision: 2'));
  expect(await ask(TRACKER)).toEqual({ answer: 'instance_serves' });
});

describe('a version under way fails, and leaves no evidence, once', () => {
  test.each([
    ['it is revoked', `connector_versions set status = 'revoked'`, /revoked meanwhile$/],
    ['its sandbox is disabled', `instances set status = 'disabled'`, /no enabled instance/],
    ['its sandbox is revoked', `instances set status = 'revoked'`, /no enabled instance/],
    ['its connector is switched off', 'connectors set enabled = false', /is not enabled/],
    ['its sandbox serves after all', 'bindings set enabled = true', /has an enabled binding/],
  ])('%s', async (_when, change, why) => {
    await apply(fleetOf(tickets(), binding('enabled: false')));
    await ask(TRACKER);
    expect(await tryGroup(TRACKER, 1, 'basics')).toMatchObject({ kind: 'no_host' });
    await db().rows(`update waybill.${change}`);
    expect(await tryGroup(TRACKER, 1, 'basics')).toEqual({
      ...{ kind: 'unfit', why: expect.stringMatching(why) as string },
    });
    expect(await judge(TRACKER, 1)).toEqual({ state: 'failed' });
    const row = await readCertification(db().as('waybill_data'), tenantId('acme'), TRACKER);
    expect(row).toMatchObject({ state: 'failed', reason: expect.stringMatching(why) as string });
    expect(await evidenceIds()).toEqual([]);
  });

  test('its key counts no more, between the last case and the verdict', async () => {
    await apply(hooks());
    await ask(HOOKS);
    await tryGroup(HOOKS, 1);
    await apply('kind: Settings\ntrustedSigners: {}\n');
    expect(await certify(1)).toBe('failed');
    const row = await readCertification(db().as('waybill_data'), tenantId('acme'), HOOKS);
    expect(row).toMatchObject({ reason: expect.stringMatching(/do not trust the key/) as string });
    expect(await evidenceIds()).toEqual([]);
  });
});

test.each([
  ['revoked', `connector_versions set status = 'revoked'`],
  ['unknown_instance', `instances set status = 'disabled'`],
])('a verdict that comes when it is %s already is not written', async (why, change) => {
  await apply(hooks());
  await ask(HOOKS);
  await tryGroup(HOOKS, 1);
  await db().rows(`update waybill.${change}`);
  const said = { connector: 'github', version: '1.0.0', kind: 'conformance' } as const;
  const statement = {
    ...{ id: 'late', ...said, artifactDigest: ARTIFACT, manifestDigest: null },
    ...({ contentDigest: ARTIFACT, contentRef: null, verdict: 'pass', signer: 'x' } as const),
    ...{ issuedAtMs: Date.now(), expiresAtMs: null, statement: 'late' },
  };
  const end = { verdict: 'passed', evidence: statement } as const;
  const ref = { ...HOOKS, run: 1 };
  const report = Buffer.from('{}');
  expect(await concludeCertification(services.operations, ref, end, report)).toBe(why);
  expect(await evidenceIds()).toEqual([]);
});

test('the secrets of vectors are kept no longer than the run', async () => {
  await apply(hooks());
  const vectors = [
    {
      ...{ vendor: 'own', schemes: {} },
      vectors: [
        {
          ...{ name: 'unsigned', scheme: 'default', secret: 'a secret of ours', body: '{}' },
          ...{ valid: false, headers: {}, url: 'https://h.test/', method: 'POST' },
        },
      ],
    },
  ];
  await ask(HOOKS, { vectors });
  expect(await certify(1)).toBe('passed');
  const rows = await db().rows<{ text: string }>(
    `select c::text as text from waybill.certifications c
      union all select convert_from(content, 'UTF8') from waybill.artifacts
      union all select a::text from waybill.audit_log a`,
  );
  expect(rows.length).toBeGreaterThan(2);
  expect(rows.filter(({ text }) => text.includes('a secret of ours'))).toEqual([]);
});

test('what has passed by a key that counts no more is tried again, by one that does', async () => {
  await apply(hooks());
  await ask(HOOKS);
  expect(await certify(1)).toBe('passed');
  expect(await ask(HOOKS)).toMatchObject({ answer: 'passed' });
  const next = await key();
  await apply(`kind: Settings\ntrustedSigners: { next: ${jwkText(next.publicJwk.x)} }\n`);
  expect(await ask(HOOKS)).toEqual({ answer: 'untrusted_signer' });
  services = { ...services, signingKey: next };
  expect(await ask(HOOKS)).toMatchObject({
    answer: 'started',
    certification: { run: 2, evidenceId: null, reportSha256: null, results: {} },
  });
  expect(await certify(2)).toBe('passed');
  expect(await evidenceIds()).toHaveLength(2);
  await apply(connector('status: active', `artifactDigest: ${ARTIFACT}`));
});

test('evidence of another deployment under the same connector, version and run is in no one’s way', async () => {
  await apply(hooks());
  await ask(HOOKS);
  await certify(1);
  const [row] = await db().rows<{ id: string; statement: string }>(
    'select evidence_id as id, statement from waybill.evidence_statements',
  );
  // As if these rows had been published here from an export, and nothing been certified.
  await db().rows('delete from waybill.certifications');
  await db().rows('delete from waybill.evidence_statements');
  await apply(evidence(row?.id ?? '', row?.statement ?? ''));
  await ask(HOOKS);
  expect(await certify(1)).toBe('passed');
  expect(await evidenceIds()).toHaveLength(2);
});

function jwkText(x: string): string {
  return `{ kty: OKP, crv: Ed25519, x: ${x} }`;
}
