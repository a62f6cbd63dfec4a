/**
 * Judging versions that have no host: a webhook scheme is tried by its vectors, and where nothing was
 * tried nothing is certified. Real: Postgres, the schemes and their vectors. No workflow is run.
 */
import { readCertification, requestCertification } from '../../src/db/certifications';
import { CONFORMANCE_GROUPS, SUITE_VERSION } from '../../src/domain/conformance';
import { tenantId } from '../../src/domain/ids';
import type { CertificationCases } from '../../src/schemas/conformance';
import { readFleet } from '../../src/schemas/fleet';
import { loadShippedSchemes } from '../../src/schemas/shipped-schemes';
import {
  judgeCertification,
  tryConformanceGroup,
  type CertificationServices,
} from '../../src/services/certification';
import { publishFleet } from '../../src/services/publications';
import { generateKeyText, importSigningKey } from '../../src/signing/keys';
import { connector, fleetOf, instance } from '../support/fleet-texts';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const ACME = tenantId('acme');
const OWN_SCHEME =
  'webhookScheme: { kind: hmac, hash: sha256, message: "{body}", signature: ' +
  '{ location: header, name: X-Sig, format: raw, encoding: hex } }';
const unsigned = { name: 'unsigned', scheme: 'default', secret: 'a secret', body: '{}' };

let db: TestDatabase;
let services: CertificationServices;

beforeAll(async () => {
  db = await createTestDatabase();
  services = {
    operations: db.as('waybill_operations'),
    signingKey: await importSigningKey(await generateKeyText()),
    ...{ nowMs: Date.now, shippedSchemes: loadShippedSchemes },
  };
  const draft = ['status: draft', `artifactDigest: ${'a'.repeat(64)}`];
  const fleet = fleetOf(
    ...[connector(...draft), instance()],
    connector('id: own', 'name: Own', OWN_SCHEME, ...draft),
    instance('id: own', 'connector: own'),
  );
  await publishFleet(db.as('waybill_control'), readFleet(fleet, loadShippedSchemes()), 'test');
});
afterAll(() => db.drop());

async function asked(connectorId: string, vectors: CertificationCases['vectors'] = []) {
  const ref = { connectorId, version: '1.0.0', suiteVersion: SUITE_VERSION };
  const answer = await requestCertification(db.as('waybill_data'), ACME, ref, {
    ...{ instance: connectorId, by: 'ada', signer: services.signingKey.publicJwk.x },
    cases: { requests: {}, vectors, credential: null },
  });
  if (!('certification' in answer)) throw new Error(answer.answer);
  return { ...ref, run: answer.certification.run };
}

async function certified(connectorId: string, vectors: CertificationCases['vectors'] = []) {
  const ref = await asked(connectorId, vectors);
  const { signal } = new AbortController();
  for (const group of CONFORMANCE_GROUPS)
    await tryConformanceGroup(services, { ...ref, group }, signal);
  const { state } = await judgeCertification(services, { ...ref, reason: null });
  const row = await readCertification(db.as('waybill_data'), ACME, ref);
  return { state, cases: Object.values(row?.results ?? {}).flat(), reason: row?.reason };
}

test('a scheme of its own without vectors is not certified, and the case says what is missing', async () => {
  const { state, cases } = await certified('own');
  expect(state).toBe('failed');
  expect(cases).toMatchObject([
    {
      ...{ id: 'webhooks/vectors', verdict: 'failed' },
      why: expect.stringMatching(/^there are no vectors of its scheme: give a file/) as string,
    },
  ]);
});

test('a scheme of its own with vectors of one kind alone is not certified', async () => {
  const vendor = { vendor: 'own', schemes: {}, vectors: [refused(unsigned)] };
  const { cases } = await certified('own', [vendor]);
  expect(cases).toMatchObject([
    { why: 'there must be vectors that are accepted and vectors that are refused' },
  ]);
});

test('where no case could be tried, nothing passes', async () => {
  const ref = await asked('own');
  const none = Object.fromEntries(CONFORMANCE_GROUPS.map((group) => [group, []]));
  await db.rows('update waybill.certifications set results = $1', [JSON.stringify(none)]);
  expect(await judgeCertification(services, { ...ref, reason: null })).toEqual({ state: 'failed' });
  expect(await readCertification(db.as('waybill_data'), ACME, ref)).toMatchObject({
    ...{ state: 'failed', reason: 'no case of the suite could be tried', evidenceId: null },
  });
});

test('a scheme that ships is tried by the vectors that ship with it', async () => {
  const { state, cases } = await certified('github');
  expect(state).toBe('passed');
  expect(cases).toMatchObject([{ id: 'webhooks/vectors', verdict: 'passed' }]);
  expect(cases[0]?.exchanges).toContainEqual({
    ...{ sent: 'vector documented example of github, which must be accepted' },
    cameBack: 'accepted',
  });
});

function refused(
  vector: typeof unsigned,
): CertificationCases['vectors'][number]['vectors'][number] {
  return { ...vector, valid: false, headers: {}, url: 'https://h.test/', method: 'POST' };
}
