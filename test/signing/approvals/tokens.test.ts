/** Approval tokens: what is approved, by whom, until when. Keys and signatures are real. */
import { generateKeyPairSync, sign as signBytes } from 'node:crypto';
import type { TrustedApprovers } from '../../../src/schemas/trusted-approvers';
import { signApproval } from '../../../src/signing/approvals/sign';
import { verifyApproval } from '../../../src/signing/approvals/verify';
import { didOfKey } from '../../../src/signing/did-key';
import { generateKeyText, importSigningKey, type SigningKey } from '../../../src/signing/keys';

const NOW = 1_800_000_000;
const DIGEST = 'd4'.repeat(32);
const CLAIMS = {
  ...{ sub: 'kate', tenant: 'acme', about: 'action/refund-1', request_digest: DIGEST },
  ...{ iat: NOW - 10, exp: NOW + 600, jti: 'a-1' },
};

let kate: SigningKey;
let other: SigningKey;
let trusted: TrustedApprovers;
beforeAll(async () => {
  kate = await importSigningKey(await generateKeyText());
  other = await importSigningKey(await generateKeyText());
  trusted = { kate: { keys: [didOf(kate)], tenants: ['acme'] } };
});

const didOf = (key: SigningKey) => didOfKey(key.publicJwk.x);
const verify = (token: string, more: object = {}) =>
  verifyApproval(token, {
    ...{ tenantId: 'acme', about: 'action/refund-1', requestDigest: DIGEST },
    ...{ nowMs: NOW * 1000, trusted, ...more },
  });
const refused = async (changes: object, more: object = {}) =>
  verify(await signApproval({ ...CLAIMS, ...changes }, kate), more);

/** A token as any tool makes it, of whatever header and claims. */
function handMade(header: object, claims: object): string {
  const pair = generateKeyPairSync('ed25519');
  const { x = '' } = pair.publicKey.export({ format: 'jwk' });
  trusted = { ...trusted, max: { keys: [didOfKey(x)], tenants: null } };
  const text = [
    { alg: 'EdDSA', typ: 'waybill-approval', ...header },
    { iss: didOfKey(x), ...CLAIMS, sub: 'max', ...claims },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${text}.${signBytes(null, Buffer.from(text), pair.privateKey).toString('base64url')}`;
}

test('what a trusted approver has signed is an approval, with its id, name and end', async () => {
  expect(await verify(await signApproval(CLAIMS, kate))).toEqual({
    ok: true,
    approval: {
      approvalId: 'a-1',
      approver: 'kate',
      key: expect.any(String) as string,
      expiresAt: '2027-01-15T08:10:00.000Z',
    },
  });
  expect(await verify(handMade({}, {}))).toMatchObject({ ok: true, approval: { approver: 'max' } });
});

test.each([
  ['of another tenant', { tenant: 'globex' }, 'other_tenant'],
  ['for another action', { about: 'action/refund-2' }, 'other_subject'],
  ['for a delivery of that id', { about: 'delivery/refund-1' }, 'other_subject'],
  ['of another request', { request_digest: 'd5'.repeat(32) }, 'other_request'],
  ['that ends now', { exp: NOW }, 'expired'],
  ['that begins later', { iat: NOW + 61 }, 'not_yet_valid'],
  ['by a name that is not trusted', { sub: 'max' }, 'untrusted'],
  ['by a name of JavaScript', { sub: 'constructor' }, 'untrusted'],
])('one %s is none', async (_what, changes, reason) => {
  trusted = { kate: { keys: [didOf(kate)], tenants: ['acme'] } };
  expect(await refused(changes)).toEqual({ ok: false, reason });
});

test('trust is by key, by name and by tenant', async () => {
  const token = await signApproval(CLAIMS, other);
  expect(await verify(token)).toEqual({ ok: false, reason: 'untrusted' });
  const elsewhere = { kate: { keys: [didOf(kate)], tenants: ['globex'] } };
  const untrusted = { ok: false, reason: 'untrusted' };
  expect(await refused({}, { trusted: elsewhere })).toEqual(untrusted);
  const both = { kate: { keys: [didOf(other), didOf(kate)], tenants: null } };
  expect(await verify(token, { trusted: both })).toMatchObject({ ok: true });
});

test('another signature, or another text under it, is forged', async () => {
  const [header, payload] = (await signApproval(CLAIMS, kate)).split('.');
  const [, , foreign] = (await signApproval({ ...CLAIMS, jti: 'a-2' }, kate)).split('.');
  const forged = { ok: false, reason: 'forged' };
  expect(await verify([header, payload, foreign].join('.'))).toEqual(forged);
});

test.each([
  ['another type', { typ: 'waybill-evidence' }, {}],
  ['another algorithm', { alg: 'none' }, {}],
  ['a field that must be understood', { crit: ['exp'], exp: 1 }, {}],
  ['an unknown claim', {}, { scope: 'all' }],
  ['no end', {}, { exp: undefined }],
  ['an end after a year', {}, { exp: NOW + 365 * 24 * 3600 }],
  ['an issuer that is no key', {}, { iss: 'https://kate.example' }],
  ['a thing of another kind', {}, { about: 'tenant/acme' }],
  ['a digest in capitals', {}, { request_digest: 'D4'.repeat(32) }],
])('a token with %s is malformed', async (_what, header, claims) => {
  expect(await verify(handMade(header, claims))).toEqual({ ok: false, reason: 'malformed' });
});

test.each(['', 'a.b', 'a.b.c.d', 'e30.e30.e30', `${'a'.repeat(5000)}.b.c`])(
  'a text that is no token is malformed',
  async (text) => {
    expect(await verify(text)).toEqual({ ok: false, reason: 'malformed' });
  },
);

test('nobody signs what no reader would take', async () => {
  await expect(signApproval({ ...CLAIMS, about: 'refund-1' }, kate)).rejects.toThrow('action/ID');
});
