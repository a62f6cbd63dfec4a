/** Asserted, for each shipped scheme: a signature has one spelling, one place and one algorithm. */
import { maxSignatures } from '../../../../src/signing/webhooks/signature-field';
import { sent, type Vendor } from '../../../support/vendors/vendor';
import { compiledOf, conform, outcome, type Instead } from './conform';

const isToken = ({ encoding }: Vendor) => encoding === 'token' || encoding === 'basic';

const withSignature = (vendor: Vendor, signature: string) => {
  const { field, build } = vendor.sign();
  return outcome(vendor, build(field(signature)));
};

/** The last part of a token, and what stands before it. */
function tail(token: string): { readonly head: string; readonly last: string } {
  const at = token.lastIndexOf('.') + 1;
  return { head: token.slice(0, at), last: token.slice(at) };
}

const codecOf = ({ encoding }: Vendor) => (encoding === 'hex' ? 'hex' : 'base64');

const notHex: Instead = {
  because: 'its signature is no hex, and in other letter case it is another one',
  check: async (vendor) => {
    const changed = await withSignature(vendor, vendor.sign().signature.toUpperCase());
    expect(['signature_mismatch', 'malformed_signature']).toContain(changed);
  },
};

const noBase64: Instead = {
  because: 'its signature is no Base64; blanks around it do not make it another spelling',
  check: async (vendor) => {
    const changed = await withSignature(vendor, `${vendor.sign().signature} `);
    const pairs = compiledOf(vendor).scheme.signature.format === 'pairs';
    expect(changed === 'accepted').toBe(pairs);
  },
};

const noFreeBits: Instead = {
  because: 'its length leaves no free bits; padding too many is another spelling',
  check: async (vendor) => {
    const changed = await withSignature(vendor, `${vendor.sign().signature}=`);
    expect(changed).toBe('malformed_signature');
  },
};

const noneAlgorithm: Instead = {
  because: 'the token names its algorithm, of which only the listed ones count',
  check: async (vendor) => {
    const [, payload = '', mac = ''] = vendor.sign().signature.split('.');
    for (const [alg, reason] of [
      ['none', 'algorithm_refused'],
      ['RS256', 'algorithm_refused'],
      ['HS384', 'signature_mismatch'],
    ] as const) {
      const header = Buffer.from(JSON.stringify({ alg })).toString('base64url');
      expect(await withSignature(vendor, `${header}.${payload}.${mac}`)).toBe(reason);
    }
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    expect(await withSignature(vendor, `${none}.${payload}.`)).toBe('malformed_signature');
  },
};

const noAlgorithm: Instead = {
  because: 'no algorithm is used; another scheme of authentication is refused',
  check: async (vendor) => {
    const { signature, build } = vendor.sign();
    const other = await outcome(vendor, build(`Bearer ${signature}`));
    expect(['malformed_signature', 'signature_mismatch']).toContain(other);
  },
};

conform('flip one bit of the signature', async (vendor) => {
  const { signature } = vendor.sign();
  const { head, last } =
    vendor.encoding === 'jws' ? tail(signature) : { head: '', last: signature };
  const codec =
    vendor.encoding === 'token'
      ? 'latin1'
      : vendor.encoding === 'jws'
        ? 'base64url'
        : codecOf(vendor);
  const bytes = Buffer.from(last, codec);
  const count = bytes.length > 100 ? 64 : bytes.length * 8;
  for (let bit = 0; bit < count; bit += 1) {
    const flipped = Buffer.from(bytes);
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(await withSignature(vendor, head + flipped.toString(codec))).toBe('signature_mismatch');
  }
});

conform('truncate the signature by one character and by one byte', async (vendor) => {
  const { signature } = vendor.sign();
  const byCharacter = await withSignature(vendor, signature.slice(0, -1));
  if (vendor.encoding === 'token') {
    expect(byCharacter).toBe('signature_mismatch');
    return;
  }
  expect(byCharacter).toBe('malformed_signature');
  const { head, last } =
    vendor.encoding === 'jws' ? tail(signature) : { head: '', last: signature };
  const codec = vendor.encoding === 'jws' ? 'base64url' : codecOf(vendor);
  const shorter = Buffer.from(last, codec).subarray(0, -1).toString(codec);
  expect(await withSignature(vendor, head + shorter)).toBe('signature_mismatch');
});

conform(
  'upper-case a hex signature',
  async (vendor) => {
    const upper = vendor.sign().signature.toUpperCase();
    expect(await withSignature(vendor, upper)).toBe('malformed_signature');
  },
  (vendor) => (vendor.encoding === 'hex' ? null : notHex),
);

conform(
  'non-canonical base64 tail',
  async (vendor) => {
    const { head, last } = respellable(vendor);
    const respelled = nonCanonical(last);
    expect(respelled).not.toBe(last);
    const codec = vendor.encoding === 'jws' ? 'base64url' : 'base64';
    expect(Buffer.from(respelled, codec)).toEqual(Buffer.from(last, codec));
    expect(await withSignature(vendor, head + respelled)).toBe('malformed_signature');
  },
  (vendor) => {
    if (vendor.encoding === 'hex' || vendor.encoding === 'token') return noBase64;
    const { last } = respellable(vendor);
    return nonCanonical(last) === last ? noFreeBits : null;
  },
);

/** A signature with free bits, where the vendor has any such: of a DER signature the length is chance. */
function respellable(vendor: Vendor): ReturnType<typeof tail> {
  for (let tries = 0; ; tries += 1) {
    const found = tail(vendor.sign().signature);
    if (nonCanonical(found.last) !== found.last || tries === 50) return found;
  }
}

/** Sets the free bits of the last character before the padding. */
function nonCanonical(text: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const url = letters.replace('+', '-').replace('/', '_');
  const alphabet = /[-_]/.test(text) ? url : letters;
  const [, head = '', last = '', padding = ''] = /^(.*)([^=])(=*)$/.exec(text) ?? [];
  const free = padding === '' ? (4 - (text.length % 4)) % 4 : padding.length;
  if (free === 0) return text;
  return head + (alphabet[alphabet.indexOf(last) | 1] ?? '') + padding;
}

conform('signature header missing, empty, repeated twice with different values', async (vendor) => {
  const { signature, field, build } = vendor.sign();
  const good = field(signature);
  expect(await outcome(vendor, build())).toBe('missing_signature');
  expect(await outcome(vendor, build(''))).toBe('empty_signature');
  if (vendor.scheme === 'adyen') return;
  expect(await outcome(vendor, build(good, `${good}0`))).toBe('repeated_signature');
  expect(await outcome(vendor, build(good, good))).toBe('accepted');
});

conform('list of 1,000 bad signatures (bounded work)', async (vendor) => {
  const { signature, field, build } = vendor.sign();
  const { signature: place } = compiledOf(vendor).scheme;
  const lines = Array.from({ length: 1000 }, (_, index) => field(`${signature}${index}`));
  const expected = vendor.scheme === 'adyen' ? 'malformed_signature' : 'repeated_signature';
  expect(await outcome(vendor, build(...lines))).toBe(expected);
  const { most } = compiledOf(vendor).signatures;
  expect(most).toBeLessThanOrEqual(maxSignatures);
  if (place.format !== 'pairs') return;
  const key = place.sig_keys[0] ?? '';
  const list = Array.from({ length: 1000 }, () => `${key}${place.eq}${signature}`);
  expect(await outcome(vendor, build(list.join(place.sep)))).toBe('too_many_signatures');
  const others = Array.from(
    { length: most - field(signature).split(place.sep).length },
    (_, index) => `${key}${place.eq}bad${index}`,
  );
  expect(await outcome(vendor, build([...others, field(signature)].join(place.sep)))).toBe(
    'accepted',
  );
});

conform(
  'algorithm downgrade (sha1= where sha256= is configured, v0 beside v1, alg none)',
  async (vendor) => {
    const { signature, build } = vendor.sign();
    for (const version of [
      'sha1=',
      'v0,',
      'v2,',
      'v2=',
      'none=',
      'SHA256=',
      'V1=',
      'V0=',
      'md5=',
    ]) {
      const { signature: place } = compiledOf(vendor).scheme;
      if (place.format === 'prefix' && version === place.prefix) continue;
      if (place.format === 'pairs' && place.sig_keys.includes(version.slice(0, -1))) continue;
      expect(await outcome(vendor, build(`${version}${signature}`))).toBe('malformed_signature');
    }
  },
  (vendor) => (vendor.encoding === 'jws' ? noneAlgorithm : isToken(vendor) ? noAlgorithm : null),
);

conform('header names in mixed case', async (vendor) => {
  const request = sent(vendor.sign());
  const cased = (change: (name: string) => string) =>
    request.headers.map(([name, value]) => [change(name), value] as const);
  for (const headers of [
    cased((name) => name.toUpperCase()),
    cased((name) => name.toLowerCase()),
    cased((name) => name.replaceAll(/[a-z]/g, (c, at: number) => (at % 2 ? c : c.toUpperCase()))),
  ]) {
    expect(await outcome(vendor, { ...request, headers })).toBe('accepted');
  }
});
