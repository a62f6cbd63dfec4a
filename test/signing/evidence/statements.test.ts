/** Statements of evidence: signing, reading, and telling who signed. Keys and signatures are real. */
import { readStatement } from '../../../src/schemas/evidence-statements';
import { signStatement } from '../../../src/signing/evidence/sign';
import { isSignedStatement } from '../../../src/signing/evidence/verify';
import { generateKeyText, importSigningKey } from '../../../src/signing/keys';
import { ARTIFACT, claims, jws, MANIFEST, newSigner } from '../../support/evidence-texts';

const signer = newSigner();
const said = {
  ...({ v: 1, connector: 'tracker', version: '1.0.0', kind: 'sbom', verdict: 'pass' } as const),
  ...{ artifactDigest: ARTIFACT, manifestDigest: MANIFEST, contentDigest: 'c3'.repeat(32) },
  issuedAt: '2026-01-31T00:00:00Z',
};
const problemOf = (text: string) => {
  const read = readStatement(text);
  return 'problem' in read ? read.problem : 'reads';
};

test('what is signed is read back, with who signed it', async () => {
  const key = await importSigningKey(await generateKeyText());
  const statement = await signStatement(said, key);
  expect(readStatement(statement)).toEqual({
    ...{ ...said, contentRef: null, expiresAt: null },
    ...{ signer: key.publicJwk.x, jws: statement },
  });
  expect(await isSignedStatement(statement)).toBe(true);
});

test('the same form made by another tool is a statement, too', async () => {
  const statement = jws(signer, claims(), { kid: 'release-2026' });
  expect(problemOf(statement)).toBe('reads');
  expect(await isSignedStatement(statement)).toBe(true);
});

test('claims that nobody could read are never signed', async () => {
  const key = await importSigningKey(await generateKeyText());
  await expect(signStatement({ ...said, artifactDigest: 'latest' }, key)).rejects.toThrow();
});

test.each([
  ['another type', jws(signer, claims(), { typ: 'waybill-receipt' })],
  ['another algorithm', jws(signer, claims(), { alg: 'none' })],
  ['no key', jws(signer, claims(), { jwk: undefined })],
  ['another kind of key', jws(signer, claims(), { jwk: { kty: 'EC', crv: 'P-256', x: 'AA' } })],
  [
    'a private key',
    jws(signer, claims(), { jwk: { kty: 'OKP', crv: 'Ed25519', x: signer.x, d: signer.x } }),
  ],
  ['a field that must be understood', jws(signer, claims(), { crit: ['exp'], exp: 1 })],
])('a header with %s is none of a statement', (_what, statement) => {
  expect(problemOf(statement)).toContain('has a header that is not one of a statement');
});

test.each([
  ['an unknown field', { note: 'x' }, 'note'],
  ['an unknown kind', { kind: 'rumour' }, 'kind'],
  ['no digest', { artifactDigest: undefined }, 'artifactDigest'],
  ['a digest in capitals', { contentDigest: 'C3'.repeat(32) }, 'contentDigest'],
  [
    'an end before its beginning',
    { expiresAt: '2020-01-01T00:00:00Z' },
    'expiresAt: must be later',
  ],
  ['a revocation that passes', { kind: 'revocation' }, 'verdict: of a revocation'],
  ['a date for an instant', { issuedAt: '2026-01-31' }, 'issuedAt: write an instant'],
])('claims with %s are told', (_what, changes, problem) => {
  expect(problemOf(jws(signer, claims(changes)))).toContain(problem);
});

test.each([
  ['nothing', ''],
  ['two parts', 'a.b'],
  ['four parts', 'YQ.YQ.YQ.YQ'],
  ['padding', 'YQ==.YQ.YQ'],
  ['another spelling of the same bytes', `${jws(signer, claims()).slice(0, -1)}_`],
])('%s is no compact JWS', (_what, text) => {
  expect(problemOf(text)).toContain('is no compact JWS');
});

test('a signature of another key, or of another text, is none', async () => {
  const other = newSigner();
  const forged = jws({ ...signer, privateKey: other.privateKey }, claims());
  expect(await isSignedStatement(forged)).toBe(false);
  const [header, , signature] = jws(signer, claims()).split('.');
  const [, payload] = jws(signer, claims({ verdict: 'fail' })).split('.');
  expect(await isSignedStatement([header, payload, signature].join('.'))).toBe(false);
  expect(await isSignedStatement('x')).toBe(false);
});
