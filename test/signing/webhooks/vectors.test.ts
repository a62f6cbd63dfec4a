/**
 * Real: published and derived vectors of vendors, with their provenance beside them. Doubled: the
 * clock, which is each vector's `verify_at`. Asserted: accepted exactly if valid, and why not.
 */
import { freshness, type VerificationReason } from '../../../src/domain/verification';
import { compileScheme } from '../../../src/signing/webhooks/compile';
import { verify } from '../../../src/signing/webhooks/verify';
import {
  shippedScheme,
  shippedSchemeNames,
  vectorFiles,
  type Vector,
  type VectorFile,
} from './fixtures';

const shipped = shippedSchemeNames();

function judge(
  file: VectorFile,
  vector: Vector,
): VerificationReason | 'accepted' | 'timestamp_out_of_window' {
  const isShipped = vector.scheme === 'default' && shipped.includes(file.vendor);
  const scheme = isShipped ? shippedScheme(file.vendor) : file.schemes[vector.scheme];
  if (!scheme) throw new Error(`no scheme ${vector.scheme}`);
  const receivedAtMs = (vector.verify_at ?? 0) * 1000;
  const verification = verify(
    compileScheme(scheme),
    {
      method: vector.method ?? 'POST',
      url: vector.url ?? 'https://hooks.example.test/',
      headers: Object.entries(vector.headers),
      body: Buffer.from(vector.body, 'utf8'),
    },
    [{ id: 'current', value: vector.secret }],
    receivedAtMs,
  );
  if (!verification.ok) return verification.reason;
  const { signedAtMs, toleranceS } = verification;
  if (signedAtMs === null || vector.verify_at === undefined) return 'accepted';
  return freshness(signedAtMs, toleranceS, receivedAtMs).fresh
    ? 'accepted'
    : 'timestamp_out_of_window';
}

describe.each(vectorFiles())('vectors of $vendor', (file) => {
  it.each(file.vectors)('$provenance, $scheme: $name', (vector) => {
    expect(judge(file, vector)).toBe(vector.valid ? 'accepted' : vector.reason);
  });
});

it('each shipped scheme is the described one, with a link to the vendor documentation', () => {
  const described = new Map(vectorFiles().map((file) => [file.vendor, file]));
  expect(shipped.sort()).toEqual(['github', 'slack', 'standard-webhooks', 'stripe']);
  for (const name of shipped) {
    const file = described.get(name);
    expect(shippedScheme(name)).toMatchObject({ ...file?.schemes['default'], docs: file?.docs });
  }
});
