/** Asserted, for any input: the scheme engine answers and never throws. */
import fc from 'fast-check';
import {
  freshness,
  limitsOf,
  maxAheadMs,
  verificationReasons,
} from '../../../src/domain/verification';
import { SignatureScheme, WebhookScheme } from '../../../src/schemas/webhook-schemes';
import { compileScheme } from '../../../src/signing/webhooks/compile';
import { decodeSignature } from '../../../src/signing/webhooks/encodings';
import { explain } from '../../../src/signing/webhooks/explain';
import { answerHandshake, findHandshake } from '../../../src/signing/webhooks/handshakes';
import { identify } from '../../../src/signing/webhooks/identify';
import {
  maxSignatures,
  readSignatures,
  signatureReader,
} from '../../../src/signing/webhooks/signature-field';
import { verify } from '../../../src/signing/webhooks/verify';
import { viewOf } from '../../../src/signing/webhooks/view';
import { vendors } from '../../support/vendors/all';
import { sent, signedAtMs } from '../../support/vendors/vendor';
import { oddSchemes } from './odd-schemes';
import { shippedScheme, shippedSchemes } from './fixtures';

const schemes = [
  ...shippedSchemes.values(),
  ...oddSchemes.map((scheme) => WebhookScheme.parse(scheme)),
];
const knownNames = schemes.flatMap((scheme) => {
  const { signature } = scheme;
  const timestamp = 'timestamp' in scheme ? scheme.timestamp?.name : undefined;
  return [signature.name, timestamp, 'content-type', 'x-contentful-signed-headers'].filter(
    (name) => name !== undefined,
  );
});

const text = fc.string({ unit: 'binary', maxLength: 200 });
const token = vendors.find(({ scheme }) => scheme === 'messagebird')?.sign().signature ?? '';
const fieldText = fc.oneof(
  text,
  fc.constantFrom(
    token,
    `${token}A`,
    'Basic dXNlcjpx',
    'application/x-www-form-urlencoded',
    'a.b.c',
  ),
  fc
    .array(
      fc.constantFrom('v1', 't', 'h', '=', ',', ' ', 'v0=', 'sha256=', 'ab', 'AA==', '1700000000'),
    )
    .map((parts) => parts.join('')),
);
const item = fc.record({ NotificationRequestItem: fc.jsonValue() });
const body = fc.oneof(
  fc.uint8Array(),
  fc.json().map((json) => Buffer.from(json)),
  fc.webQueryParameters().map((form) => Buffer.from(form)),
  fc
    .record({
      notificationItems: fc.oneof(fc.array(item), fc.jsonValue()),
      Type: fc.constantFrom('Notification', 'x'),
    })
    .map((json) => Buffer.from(JSON.stringify(json))),
  fc.constant(Buffer.from('['.repeat(5_000))),
);
const request = fc.record({
  method: fc.oneof(fc.constantFrom('GET', 'HEAD', 'POST'), text),
  url: fc.oneof(fc.webUrl({ withQueryParameters: true }), text),
  headers: fc.array(fc.tuple(fc.oneof(fc.constantFrom(...knownNames), text), fieldText), {
    maxLength: 12,
  }),
  body,
  settings: fc.option(fc.dictionary(text, fc.jsonValue()), { nil: undefined }),
});
const secrets = fc.array(
  fc.record({
    id: text,
    value: fc.oneof(text, fc.constantFrom(...vendors.map((vendor) => vendor.secrets.own))),
    notBeforeMs: fc.option(fc.double(), { nil: undefined }),
    notAfterMs: fc.option(fc.double(), { nil: undefined }),
  }),
  { maxLength: 4 },
);

it('no request makes verification throw, or accepts without a signature', async () => {
  const property = fc.asyncProperty(
    fc.constantFrom(...schemes),
    request,
    secrets,
    fc.double(),
    async (scheme, anyRequest, anySecrets, receivedAtMs) => {
      const judging = { receivedAtMs };
      const verdict = await verify(compileScheme(scheme), anyRequest, anySecrets, judging);
      if (!verdict.ok) expect(verificationReasons).toContain(verdict.reason);
      // The vendors' own token is among the texts; it is right for the claims alone.
      else if (scheme.kind !== 'jwt') throw new Error('a random signature was accepted');
    },
  );
  await fc.assert(property, { numRuns: 1000 });
});

it('no request makes a handshake or an explanation throw, and answers are never pages', async () => {
  const property = fc.asyncProperty(
    fc.constantFrom(...schemes),
    request,
    secrets,
    async (scheme, anyRequest, anySecrets) => {
      const compiled = compileScheme(scheme);
      const view = viewOf(anyRequest);
      const found = [true, false].map((signed) => findHandshake(compiled, view, signed));
      for (const handshake of [...found, ...compiled.handshakes]) {
        if (handshake === null) continue;
        const answer = answerHandshake(handshake, view, anySecrets, signedAtMs);
        if (!answer.ok) continue;
        expect(['text/plain', 'application/json', null]).toContain(answer.contentType);
        if (answer.contentType === 'application/json') JSON.parse(answer.body);
      }
      await explain(scheme, anyRequest, anySecrets, signedAtMs);
    },
  );
  await fc.assert(property, { numRuns: 150 });
});

it('no document makes the schema of schemes throw, and what it takes can be compiled', () => {
  const fields = fc.record({
    kind: fc.constantFrom('hmac', 'digest', 'ed25519', 'jwt', 'shared-token', 'rsa-pkcs1'),
    hash: fc.constantFrom('sha256', 'md5', undefined),
    message: fc.oneof(text, fc.constantFrom('{body}', '{secret}{body}', '{json:a.b}', '{', '{x}')),
    signature: fc.record({
      location: fc.constantFrom('header', 'query', 'param', 'body', 'response', 'x'),
      name: fc.oneof(text, fc.constant('X-Sig')),
      format: fc.constantFrom('raw', 'prefix', 'pairs'),
      encoding: fc.constantFrom('hex', 'base64', 'base64url', undefined),
    }),
  });
  const property = fc.property(fc.oneof(fields, fc.jsonValue()), (document) => {
    expect(typeof SignatureScheme.safeParse(document).success).toBe('boolean');
    const parsed = WebhookScheme.safeParse(document);
    if (parsed.success) compileScheme(parsed.data);
  });
  fc.assert(property, { numRuns: 1000 });
});

it('no request makes identification throw, and every id fits a row', () => {
  const property = fc.property(fc.constantFrom(...schemes), request, (scheme, anyRequest) => {
    const identity = identify(compileScheme(scheme), anyRequest, 'ab'.repeat(32));
    expect(identity.externalId).toMatch(/^[^\p{Cc}\p{Cs}]{1,256}$/u);
    for (const type of identity.eventTypes) expect(type).toMatch(/^[^\p{Cc}\p{Cs}]{1,256}$/u);
  });
  fc.assert(property, { numRuns: 1000 });
});

it('any body that a vendor signs is accepted, and under no other secret', async () => {
  const bytes = fc.uint8Array();
  const signing = vendors.filter(({ signsBytes, time }) => signsBytes && time?.place !== 'body');
  const property = fc.asyncProperty(fc.constantFrom(...signing), bytes, async (vendor, any) => {
    const signed = sent(vendor.sign({ body: any }));
    const compiled = compileScheme(shippedScheme(vendor.scheme));
    const under = (value: string) =>
      verify(compiled, signed, [{ id: 's', value }], { receivedAtMs: signedAtMs });
    expect((await under(vendor.secrets.own)).ok).toBe(true);
    expect(await under(vendor.secrets.other)).toMatchObject({ reason: 'signature_mismatch' });
  });
  await fc.assert(property, { numRuns: 300 });
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
  const reader = signatureReader(shippedScheme('stripe'));
  const property = fc.property(fc.nat({ max: 300 }), (length) => {
    const field = Array.from({ length }, (_, index) => `v1=${String(index).padStart(4, '0')}`);
    const list = readSignatures(reader, field.join(','));
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
    const limits = limitsOf(toleranceS);
    const aheadMs = Math.min(toleranceS * 1000, maxAheadMs);
    const fresh = (skewMs: number) => freshness(receivedAtMs - skewMs, limits, receivedAtMs).fresh;
    expect([fresh(toleranceS * 1000), fresh(-aheadMs)]).toEqual([true, true]);
    expect([fresh(toleranceS * 1000 + 1), fresh(-aheadMs - 1)]).toEqual([false, false]);
    expect(freshness(0, null, receivedAtMs)).toEqual({ fresh: true, skewMs: receivedAtMs });
  });
  fc.assert(property);
  expect(freshness(NaN, limitsOf(300), 0).fresh).toBe(false);
});
