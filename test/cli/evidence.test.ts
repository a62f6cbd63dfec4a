/**
 * `waybill evidence`: from a signer's key to a version that becomes active. Real: the processes and
 * Postgres. Asserted: what they print, and what `waybill apply` makes of it.
 */
import { statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ARTIFACT, MANIFEST } from '../support/evidence-texts';
import { capability, fleetOf, tracker } from '../support/fleet-texts';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { failureOf, newHome, removeHomes, waybill } from './waybill';

let db: TestDatabase;
let home: string;
beforeAll(async () => {
  db = await createTestDatabase();
  home = newHome();
});
afterAll(async () => {
  await db.drop();
  removeHomes();
});

const run = (...args: readonly string[]) =>
  waybill(args, { DATABASE_URL: db.url, WAYBILL_HOME: home });
const file = (name: string, text?: string) => {
  const at = path.join(home, name);
  if (text !== undefined) writeFileSync(at, text);
  return at;
};
const sign = (...more: readonly string[]) =>
  run(
    ...['evidence', 'sign', '--key', `file:${file('release.jwk')}`, '--id', 'tracker-sbom'],
    ...['--connector', 'tracker', '--connector-version', '1.0.0', '--kind', 'sbom'],
    ...['--artifact', ARTIFACT, '--manifest', MANIFEST, '--document', file('sbom.json', '{}')],
    ...more,
  );

test('a key, a statement and a fleet make a version active', async () => {
  const made = await run('evidence', 'new-key', file('release.jwk'));
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(statSync(file('release.jwk')).mode & 0o777).toBe(0o600);
  const fleet = fleetOf(
    `kind: Settings\nrequiredEvidence: [sbom]\ntrustedSigners: { release: ${made.stdout.trim()} }\n`,
    ...[capability(), tracker(`artifactDigest: ${ARTIFACT}`)],
  );
  const refused = await run('apply', '-f', file('fleet.yaml', fleet));
  expect(refused.stdout).toContain('missing: sbom');
  expect(failureOf(refused).code).toBe('evidence_missing');
  const signed = await sign('--expires', '90d', '--ref', 'oci://registry/sbom');
  expect(signed).toMatchObject({ code: 0, stderr: '' });
  expect(signed.stdout).toMatch(/^---\nkind: Evidence\nid: tracker-sbom\nstatement: \S+\n$/);
  const applied = await run('apply', '-f', file('fleet.yaml', fleet + signed.stdout));
  expect(applied).toMatchObject({ code: 0, stderr: '' });
  const [row] = await db.rows(
    `select status, evidence_until < clock_timestamp() + interval '91 days' as ends
      from waybill.connector_versions`,
  );
  expect(row).toEqual({ status: 'active', ends: true });
  const again = await run('evidence', 'new-key', file('release.jwk'));
  expect(failureOf(again).code).toBe('config_invalid');
});

test.each([
  ['a digest that is none', ['--artifact', 'latest'], '--artifact: write a SHA-256'],
  ['an id that is none', ['--id', 'Tracker'], '--id: '],
  ['a document that is not there', ['--document', '/nowhere/sbom.json'], '--document: '],
  ['a key that is not there', ['--key', 'env:NO_SUCH_KEY'], '--key: '],
  ['a statement that never counts', ['--expires', '0s'], '--expires: must be later'],
])('%s is told by its option', async (_what, more, problem) => {
  expect(failureOf(await sign(...more)).message).toContain(problem);
});
