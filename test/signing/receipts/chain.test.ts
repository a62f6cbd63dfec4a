/** Real: keys and signatures. Asserted: every change of a chain is detected and named. */
import { CompactSign, type JSONWebKeySet } from 'jose';
import type { ReceiptBody, ReceiptPayload } from '../../../src/domain/receipts';
import {
  generateKeyText,
  importSigningKey,
  publicKeySet,
  type SigningKey,
} from '../../../src/signing/keys';
import { ReceiptPayloadSchema } from '../../../src/signing/receipts/payload-schema';
import { receiptDigest, receiptType, signReceipt } from '../../../src/signing/receipts/sign';
import { verifyReceiptChain } from '../../../src/signing/receipts/verify-chain';

const sha256 = 'ab'.repeat(32);
const common = {
  deliveryId: 'd1',
  direction: 'inbound',
  connectorId: 'github',
  subscriptionId: 's1',
  payloadSha256: sha256,
  payloadBytes: 12,
  externalId: '2868860079149422351',
  eventType: 'push',
} as const;
const failed: ReceiptBody = {
  kind: 'failed',
  data: { ...common, attempts: 5, reason: 'attempts_exhausted', lastStatus: 503 },
};
const replayed: ReceiptBody = {
  kind: 'replayed',
  data: { ...common, replayedBy: 'op@example.test', reason: 'target fixed', series: 2 },
};
const acknowledged: ReceiptBody = {
  kind: 'acknowledged',
  data: {
    ...common,
    attempt: 6,
    fence: 1_700_000_000_000_000,
    targetId: 't1',
    targetKind: 'http',
    status: 200,
    answerSha256: sha256,
    startedAt: '2026-01-01T00:00:00.000Z',
    durationMs: 12.5,
  },
};

let key: SigningKey;
let otherKey: SigningKey;
let jwks: JSONWebKeySet;
let chain: string[];

function payloadOf(body: ReceiptBody, seq: number, prev: string | null): ReceiptPayload {
  const at = '2026-01-01T00:00:01.000Z';
  return { iss: 'waybill', v: 1, tenant: 'acme', subject: 'delivery/d1', seq, prev, at, ...body };
}

function signChain(edit: (payload: ReceiptPayload) => ReceiptPayload, signer = key) {
  const receipts: string[] = [];
  for (const [index, body] of [failed, replayed, acknowledged].entries()) {
    const previous = receipts.at(-1);
    const prev = previous === undefined ? null : receiptDigest(previous);
    receipts.push(signReceipt(edit(payloadOf(body, index + 1, prev)), signer));
  }
  return receipts;
}

async function problems(receipts: readonly string[], keys = jwks) {
  const verdict = await verifyReceiptChain(receipts, keys);
  expect(verdict.ok).toBe(verdict.problems.length === 0);
  return verdict.problems.map(({ index, code }) => `${index} ${code}`);
}

beforeAll(async () => {
  key = await importSigningKey(await generateKeyText());
  otherKey = await importSigningKey(await generateKeyText());
  jwks = publicKeySet([key, otherKey]);
  chain = signChain((payload) => payload);
});

it('a chain of every kind of receipt verifies with the public keys alone', async () => {
  expect(await problems(chain)).toEqual([]);
  expect(await problems(chain.slice(0, 1))).toEqual([]);
});

it('a chain goes on over a change of key', async () => {
  const prev = receiptDigest(chain[0] ?? '');
  const next = signReceipt(payloadOf(replayed, 2, prev), otherKey);
  expect(await problems([chain[0] ?? '', next])).toEqual([]);
});

it('altering any field breaks that receipt and the link of the next', async () => {
  const [header = '', body = '', signature = ''] = (chain[0] ?? '').split('.');
  const payload = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>;
  const data = payload['data'] as Record<string, unknown>;
  const edits = [
    ...Object.keys(payload).map((name) => ({ ...payload, [name]: 'altered' })),
    ...Object.keys(data).map((name) => ({ ...payload, data: { ...data, [name]: 'altered' } })),
  ];
  for (const edit of edits) {
    const altered = Buffer.from(JSON.stringify(edit)).toString('base64url');
    const receipt = `${header}.${altered}.${signature}`;
    expect(await problems([receipt, ...chain.slice(1)])).toEqual([
      '0 bad_signature',
      '1 previous_mismatch',
    ]);
  }
});

it('a changed header or signature is named, also another spelling of the same signature', async () => {
  const last = chain[2] ?? '';
  const [header = '', body = '', signature = ''] = last.split('.');
  const withHeader = (fields: object) =>
    `${Buffer.from(JSON.stringify(fields)).toString('base64url')}.${body}.${signature}`;
  const of = async (receipt: string) => await problems([...chain.slice(0, 2), receipt]);
  const good = { alg: 'EdDSA', kid: key.kid, typ: receiptType };
  expect(await of(withHeader({ ...good, kid: otherKey.kid }))).toEqual(['2 bad_signature']);
  expect(await of(withHeader({ ...good, kid: undefined }))).toEqual(['2 unknown_key']);
  expect(await of(withHeader({ ...good, kid: 1 }))).toEqual(['2 unknown_key']);
  expect(await of(withHeader({ ...good, alg: 'none' }))).toEqual(['2 malformed_receipt']);
  expect(await of(withHeader({ ...good, alg: 'HS256' }))).toEqual(['2 malformed_receipt']);
  expect(await of(withHeader({ ...good, typ: 'JWT' }))).toEqual(['2 malformed_receipt']);
  expect(await of(withHeader({ ...good, crit: ['x'], x: 1 }))).toEqual(['2 malformed_receipt']);
  // Four bits of the last character are free: the next letter decodes to the same bytes.
  const next = String.fromCharCode(signature.charCodeAt(signature.length - 1) + 1);
  const respelled = `${signature.slice(0, -1)}${next}`;
  expect(await of(`${header}.${body}.${respelled}`)).toEqual(['2 malformed_receipt']);
});

it.each(['', 'a', 'a.b.c', 'YQ.YQ.YQ', '..', 'a.b.c.d', '\ud800'])(
  'text that is no receipt is named: %j',
  async (text) => {
    expect(await problems([text])).toEqual(['0 malformed_receipt']);
  },
);

it('dropping a receipt is named', async () => {
  const [first = '', second = '', third = ''] = chain;
  expect(await problems([second, third])).toEqual(['0 sequence_gap', '0 previous_mismatch']);
  expect(await problems([first, third])).toEqual(['1 sequence_gap', '1 previous_mismatch']);
  expect(await problems([])).toEqual(['0 empty_chain']);
});

it('reordering and repeating are named', async () => {
  const [first = '', second = '', third = ''] = chain;
  expect(await problems([first, third, second])).toContain('1 sequence_gap');
  expect(await problems([second, first, third])).toContain('0 sequence_gap');
  expect(await problems([first, first])).toEqual(['1 sequence_gap', '1 previous_mismatch']);
});

it('a link that names another receipt is named, though it is well signed', async () => {
  const wrong = signReceipt(payloadOf(replayed, 2, sha256), key);
  expect(await problems([chain[0] ?? '', wrong])).toEqual(['1 previous_mismatch']);
  const first = signReceipt(payloadOf(failed, 1, sha256), key);
  expect(await problems([first])).toEqual(['0 previous_mismatch']);
});

it('mixing the chains of two deliveries or two tenants is named', async () => {
  const other = signChain((payload) => ({ ...payload, subject: 'delivery/d2' }));
  const foreign = signChain((payload) => ({ ...payload, tenant: 'umbrella' }));
  const mixed = (receipts: string[]) => problems([chain[0] ?? '', receipts[1] ?? '']);
  expect(await mixed(other)).toEqual(['1 previous_mismatch', '1 other_subject']);
  expect(await mixed(foreign)).toEqual(['1 previous_mismatch', '1 other_tenant']);
  expect(await problems(other)).toEqual([]);
});

it('a key that is not in the set is unknown, and one listed twice decides nothing', async () => {
  const unknown = ['0 unknown_key', '1 unknown_key', '2 unknown_key'];
  expect(await problems(chain, publicKeySet([otherKey]))).toEqual(unknown);
  expect(await problems(chain, { keys: [] })).toEqual(unknown);
  expect(await problems(chain, publicKeySet([key, key]))).toEqual(unknown);
});

it('a well-signed payload of another form is refused, by the signer too', async () => {
  const odd = JSON.stringify({ ...payloadOf(failed, 1, null), v: 2 });
  for (const text of [odd, 'no json']) {
    const receipt = await new CompactSign(Buffer.from(text))
      .setProtectedHeader({ alg: 'EdDSA', kid: key.kid, typ: receiptType })
      .sign(key.privateKey);
    expect(await problems([receipt])).toEqual(['0 malformed_payload']);
  }
  expect(() => signReceipt({ ...payloadOf(failed, 1, null), seq: 0 }, key)).toThrow();
});

it('what is signed at once is what jose signs', async () => {
  const payload = payloadOf(acknowledged, 1, sha256);
  const receipt = signReceipt(payload, key);
  const joses = new CompactSign(
    Buffer.from(JSON.stringify(ReceiptPayloadSchema.parse(payload))),
  ).setProtectedHeader({ alg: 'EdDSA', kid: key.kid, typ: receiptType });
  expect(receipt).toBe(await joses.sign(key.privateKey));
});
