/** Asserted, for any input: verification and identification answer and never throw. */
import fc from 'fast-check';
import { freshness, maxAheadMs, verificationReasons } from '../../../src/domain/verification';
import { compileScheme } from '../../../src/signing/webhooks/compile';
import { decodeSignature } from '../../../src/signing/webhooks/encodings';
import { identify } from '../../../src/signing/webhooks/identify';
import { maxSignatures, readSignatures } from '../../../src/signing/webhooks/signature-field';
import { verify } from '../../../src/signing/webhooks/verify';
import {
  shippedScheme,
  shippedSchemeNames,
  signedAtS,
  vectorFiles,
  vendorSigners,
} from './fixtures';

const schemes = [
  ...shippedSchemeNames().map(shippedScheme),
  ...vectorFiles().flatMap((file) => Object.values(file.schemes)),
];
const knownNames = schemes.flatMap(({ signature, timestamp, id_header }) =>
  [signature.name, timestamp?.name, id_header].filter((name) => name !== undefined),
);

const text = fc.string({ unit: 'binary', maxLength: 200 });
const fieldText = fc.oneof(
  text,
  fc
    .array(fc.constantFrom('v1', 't', '=', ',', ' ', 'v0=', 'sha256=', 'ab', 'AA==', '1700000000'))
    .map((parts) => parts.join('')),
);
const request = fc.record({
  method: text,
  url: fc.oneof(fc.webUrl(), text),
  headers: fc.array(fc.tuple(fc.oneof(fc.constantFrom(...knownNames), text), fieldText), {
    maxLength: 12,
  }),
  body: fc.oneof(
    fc.uint8Array(),
    fc.json().map((json) => Buffer.from(json)),
  ),
});
const secrets = fc.array(
  fc.record({
    id: text,
    value: text,
    notBeforeMs: fc.option(fc.double(), { nil: undefined }),
    notAfterMs: fc.option(fc.double(), { nil: undefined }),
  }),
  { maxLength: 4 },
);

it('no request makes verification throw, or accepts without a signature', () => {
  const property = fc.property(
    fc.constantFrom(...schemes),
    request,
    secrets,
    fc.double(),
    (scheme, anyRequest, anySecrets, receivedAtMs) => {
      const verification = verify(compileScheme(scheme), anyRequest, anySecrets, receivedAtMs);
      if (verification.ok) throw new Error('a random signature was accepted');
      expect(verificationReasons).toContain(verification.reason);
    },
  );
  fc.assert(property, { numRuns: 2000 });
});

it('no request makes identification throw, and every id fits a row', () => {
  const property = fc.property(fc.constantFrom(...schemes), request, (scheme, anyRequest) => {
    const identity = identify(compileScheme(scheme), anyRequest, 'ab'.repeat(32));
    expect(identity.externalId).toMatch(/^[^\p{Cc}\p{Cs}]{1,256}$/u);
  });
  fc.assert(property, { numRuns: 1000 });
});

it('any body that a vendor signs is accepted, and under no other secret', () => {
  const property = fc.property(
    fc.constantFrom(...vendorSigners),
    fc.uint8Array(),
    fc.stringMatching(/^[a-zA-Z0-9_-]{1,40}$/),
    (signer, body, id) => {
      const { headers } = signer.sign({ secret: signer.secret, body, id });
      const compiled = compileScheme(shippedScheme(signer.vendor));
      const signed = { method: 'POST', url: '/', headers, body };
      const under = (value: string) => verify(compiled, signed, [{ id: 's', value }], signedAtS);
      expect(under(signer.secret).ok).toBe(true);
      expect(under(signer.otherSecret)).toMatchObject({ reason: 'signature_mismatch' });
    },
  );
  fc.assert(property, { numRuns: 300 });
});

it('a decoded signature has exactly one spelling', () => {
  const encodings = fc.constantFrom('hex', 'base64', 'base64url');
  const property = fc.property(
    encodings,
    fc.uint8Array({ minLength: 1 }),
    text,
    (encoding, bytes, other) => {
      const spelling = Buffer.from(bytes).toString(encoding);
      expect(decodeSignature(encoding, spelling)).toEqual(Buffer.from(bytes));
      const decoded = decodeSignature(encoding, other);
      if (decoded) expect(Buffer.from(decoded).toString(encoding)).toBe(other);
    },
  );
  fc.assert(property);
});

it('a list never yields more signatures than the bound', () => {
  const { signature } = shippedScheme('stripe');
  const property = fc.property(fc.nat({ max: 300 }), (length) => {
    const list = readSignatures(signature, Array.from({ length }, () => 'v1=ab').join(','));
    const expected = length === 0 ? 'empty_signature' : 'too_many_signatures';
    if (list.ok) expect(list.signatures).toHaveLength(length);
    else expect(list.reason).toBe(expected);
    expect(list.ok).toBe(length > 0 && length <= maxSignatures);
  });
  fc.assert(property);
});

it('freshness includes both edges and allows at most 60 s ahead', () => {
  const instants = fc.integer({ min: 0, max: 4e12 });
  const property = fc.property(instants, fc.nat({ max: 86_400 }), (receivedAtMs, toleranceS) => {
    const aheadMs = Math.min(toleranceS * 1000, maxAheadMs);
    const fresh = (skewMs: number) =>
      freshness(receivedAtMs - skewMs, toleranceS, receivedAtMs).fresh;
    expect([fresh(toleranceS * 1000), fresh(-aheadMs)]).toEqual([true, true]);
    expect([fresh(toleranceS * 1000 + 1), fresh(-aheadMs - 1)]).toEqual([false, false]);
    expect(freshness(0, null, receivedAtMs)).toEqual({ fresh: true, skewMs: receivedAtMs });
  });
  fc.assert(property);
  expect(freshness(NaN, 300, 0).fresh).toBe(false);
});
