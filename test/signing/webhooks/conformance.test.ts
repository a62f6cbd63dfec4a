/**
 * The mutations that every vendor's scheme must withstand, against each shipped scheme. Real: the
 * schemes as shipped; requests are signed by code that shares nothing with the product.
 */
import { gzipSync } from 'node:zlib';
import { freshness } from '../../../src/domain/verification';
import { compileScheme } from '../../../src/signing/webhooks/compile';
import { secretProblem } from '../../../src/signing/webhooks/secrets';
import { maxSignatures } from '../../../src/signing/webhooks/signature-field';
import { verify } from '../../../src/signing/webhooks/verify';
import {
  requestOf,
  shippedScheme,
  signedAtS,
  vendorSigners,
  type SignInput,
  type VendorSigner,
} from './fixtures';

const body = Buffer.from('{"id": "evt_1", "type": "a.b", "n": 1.0}\n');
const receivedAtMs = signedAtS * 1000;
const timedSigners = vendorSigners.filter(({ timestamp }) => timestamp !== undefined);

/** One shipped scheme under attack. */
function attack(signer: VendorSigner) {
  const compiled = compileScheme(shippedScheme(signer.vendor));
  const current = { id: 'current', value: signer.secret };
  const signed = (input: Partial<SignInput> = {}) =>
    signer.sign({ secret: signer.secret, body, ...input });

  function outcome(headers: readonly (readonly [string, string])[], bytes: Uint8Array = body) {
    const verification = verify(compiled, requestOf(headers, bytes), [current], receivedAtMs);
    return verification.ok ? 'accepted' : verification.reason;
  }

  /** The signed request with its signature header replaced by these lines. */
  function withFields(...fields: string[]) {
    const others = signed().headers.filter(([name]) => name !== signer.signatureHeader);
    return [...others, ...fields.map((field) => [signer.signatureHeader, field] as const)];
  }

  const fieldOf = (signature: string) => signer.field(signature, String(signedAtS));
  const withSignature = (signature: string) => withFields(fieldOf(signature));
  return { compiled, current, signed, outcome, withFields, withSignature, fieldOf };
}

describe.each(vendorSigners)('a signature of $vendor', (signer) => {
  const { signed, outcome, withSignature, withFields, fieldOf } = attack(signer);

  it('is accepted as the vendor makes it, with header names in any case', () => {
    const { headers } = signed();
    expect(outcome(headers)).toBe('accepted');
    expect(outcome(headers.map(([name, value]) => [name.toUpperCase(), value]))).toBe('accepted');
    expect(outcome(headers.map(([name, value]) => [name.toLowerCase(), value]))).toBe('accepted');
  });

  it('is refused with any one bit flipped', () => {
    const bytes = Buffer.from(signed().signature, signer.encoding);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(outcome(withSignature(flipped.toString(signer.encoding)))).toBe('signature_mismatch');
    }
  });

  it('is malformed when cut by a character, and a mismatch when cut by a byte', () => {
    const { signature } = signed();
    const shorter = Buffer.from(signature, signer.encoding).subarray(0, -1);
    expect(outcome(withSignature(signature.slice(0, -1)))).toBe('malformed_signature');
    expect(outcome(withSignature(shorter.toString(signer.encoding)))).toBe('signature_mismatch');
  });

  it('has one spelling only', () => {
    const { signature } = signed();
    const isHex = signer.encoding === 'hex';
    const respelled = isHex ? signature.toUpperCase() : nonCanonicalBase64(signature);
    const decoded = Buffer.from(respelled, signer.encoding).toString('hex');
    expect(decoded).toBe(Buffer.from(signature, signer.encoding).toString('hex'));
    expect(outcome(withSignature(respelled))).toBe('malformed_signature');
  });

  it('is told apart when missing, empty, repeated or unreadable', () => {
    const good = fieldOf(signed().signature);
    expect(outcome(withFields())).toBe('missing_signature');
    expect(outcome(withFields(''))).toBe('empty_signature');
    expect(outcome(withFields(good, `${good}0`))).toBe('repeated_signature');
    expect(outcome(withFields(good, good))).toBe('accepted');
    expect(outcome(withFields('nonsense'))).toBe('malformed_signature');
    expect(outcome(withSignature(''))).toBe('malformed_signature');
  });

  it('cannot choose a weaker algorithm or version', () => {
    const good = signed().signature;
    for (const version of ['sha1=', 'v0,', 'v2,', 'v2=', 'none=', 'SHA256=', 'V1=', 'V0=']) {
      expect(outcome(withFields(`${version}${good}`))).toBe('malformed_signature');
    }
  });
});

describe.each(vendorSigners)('a flood of signatures at $vendor', (signer) => {
  const { compiled, signed, outcome, withFields, fieldOf } = attack(signer);
  const bad = Buffer.alloc(32).toString(signer.encoding);
  const { signature: field } = compiled.scheme;

  it('is refused without being tried', () => {
    const lines = Array.from({ length: 1000 }, (_, i) => fieldOf(`${bad}${i}`));
    expect(outcome(withFields(...lines))).toBe('repeated_signature');
    if (field.format !== 'pairs') return;
    const list = Array.from({ length: 1000 }, () => fieldOf(bad)).join(field.sep);
    expect(outcome(withFields(list))).toBe('too_many_signatures');
  });

  it('leaves the longest list that is read its good last entry', () => {
    const good = fieldOf(signed().signature);
    if (field.format !== 'pairs') {
      expect(outcome(withFields(good))).toBe('accepted');
      return;
    }
    const room = maxSignatures - good.split(field.sep).length;
    const others = Array.from({ length: room }, () => `v1${field.eq}${bad}`);
    expect(outcome(withFields([...others, good].join(field.sep)))).toBe('accepted');
  });
});

describe.each(vendorSigners)('a body under the scheme of $vendor', (signer) => {
  const { signed, outcome } = attack(signer);

  it('is refused with one byte more, and re-serialised', () => {
    const { headers } = signed();
    expect(outcome(headers, Buffer.concat([body, Buffer.from(' ')]))).toBe('signature_mismatch');
    const reserialised = Buffer.from(JSON.stringify(JSON.parse(body.toString())));
    expect(outcome(headers, reserialised)).toBe('signature_mismatch');
  });

  it.each([
    ['no bytes', Buffer.alloc(0)],
    ['a byte order mark', Buffer.from('\ufeff{"a":1}')],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0xe9, 0x00, 0xff, 0x7d])],
    ['a line end', Buffer.from('{"a":1}\r\n')],
    ['gzip', gzipSync('{"a":1}')],
  ])('of %s is verified over its bytes', (_, bytes) => {
    expect(outcome(signed({ body: bytes }).headers, bytes)).toBe('accepted');
  });
});

describe.each(vendorSigners)('the secrets of $vendor', (signer) => {
  const { compiled, current, signed } = attack(signer);
  const request = requestOf(signed().headers, body);
  const renewed = requestOf(signed({ secret: signer.otherSecret }).headers, body);

  it('are refused empty when configured, and passed over at run time', () => {
    expect(secretProblem(compiled, signer.secret)).toBeNull();
    expect(secretProblem(compiled, '')).toBe('the secret is empty');
    const empty = { id: 'empty', value: '' };
    const alone = verify(compiled, request, [empty], receivedAtMs);
    expect(alone).toMatchObject({ ok: false, reason: 'unusable_secret' });
    const beside = verify(compiled, request, [empty, current], receivedAtMs);
    expect(beside).toMatchObject({ ok: true, secretId: 'current' });
  });

  it('count from the start of their window until its end, as of receipt', () => {
    const secrets = [
      { id: 'new', value: signer.otherSecret, notBeforeMs: receivedAtMs - 1000 },
      { id: 'old', value: signer.secret, notAfterMs: receivedAtMs },
    ];
    const at = (ms: number, which = request) => verify(compiled, which, secrets, ms);
    expect(at(receivedAtMs - 1)).toMatchObject({ ok: true, secretId: 'old' });
    expect(at(receivedAtMs)).toMatchObject({ ok: false, reason: 'signature_mismatch' });
    expect(at(receivedAtMs, renewed)).toMatchObject({ ok: true, secretId: 'new' });
    expect(at(receivedAtMs - 1000, renewed)).toMatchObject({ ok: true, secretId: 'new' });
    expect(at(receivedAtMs - 1001, renewed)).toMatchObject({ reason: 'signature_mismatch' });
    const expired = verify(compiled, request, secrets.slice(1), receivedAtMs);
    expect(expired).toMatchObject({ ok: false, reason: 'no_active_secret' });
  });
});

describe.each(timedSigners)('the timestamp of $vendor', (signer) => {
  const { compiled, current, signed, outcome } = attack(signer);
  const timed = (timestamp: string) => outcome(signed({ timestamp }).headers);

  it('has the unit of the scheme, which is never guessed', () => {
    for (const text of ['-1700000000', '1e30', '1700000000.5', 'soon', '9'.repeat(17), '+1']) {
      expect(timed(text)).toBe('malformed_timestamp');
    }
    expect(timed('2023-11-14T22:13:20Z')).toBe('malformed_timestamp');
    expect(timed('')).toBe('missing_timestamp');
  });

  it('in milliseconds where seconds are meant is out of every window', () => {
    const request = requestOf(signed({ timestamp: String(receivedAtMs) }).headers, body);
    const verification = verify(compiled, request, [current], receivedAtMs);
    expect(verification).toMatchObject({ ok: true, signedAtMs: receivedAtMs * 1000 });
    expect(freshness(receivedAtMs * 1000, 300, receivedAtMs).fresh).toBe(false);
  });

  it('is judged after the signature', () => {
    const forged = signed({ secret: signer.otherSecret, timestamp: 'soon' });
    expect(outcome(forged.headers)).toBe('signature_mismatch');
  });

  it('is answered with the tolerance, for whoever judges freshness', () => {
    const request = requestOf(signed().headers, body);
    const expected = { ok: true, secretId: 'current', signedAtMs: receivedAtMs, toleranceS: 300 };
    expect(verify(compiled, request, [current], 0)).toEqual(expected);
  });

  it('is refused when its header is missing, empty or sent with two values', () => {
    const name = signer.timestamp?.header;
    if (name === undefined) {
      const { signature } = signed();
      expect(outcome([[signer.signatureHeader, `v1=${signature}`]])).toBe('missing_timestamp');
      const twice = `t=1,${signer.field(signature, String(signedAtS))}`;
      expect(outcome([[signer.signatureHeader, twice]])).toBe('repeated_timestamp');
      return;
    }
    const others = signed().headers.filter(([header]) => header !== name);
    expect(outcome(others)).toBe('missing_timestamp');
    expect(outcome([...others, [name, '']])).toBe('missing_timestamp');
    expect(outcome([...signed().headers, [name, '1']])).toBe('repeated_timestamp');
  });
});

/** Sets a free bit of the last character: decodes to the same bytes, is not the same text. */
function nonCanonicalBase64(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const at = text.indexOf('=') - 1;
  const next = alphabet[alphabet.indexOf(text.charAt(at)) + 1] ?? '';
  return `${text.slice(0, at)}${next}${text.slice(at + 1)}`;
}
