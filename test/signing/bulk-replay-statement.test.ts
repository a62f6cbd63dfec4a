/** Real: keys and signatures. Asserted: every change of a bulk replay's statement or page is named. */
import { CompactSign } from 'jose';
import { verifyReplay, type ReplayDocument } from '../../src/cli/receipt/replay-document';
import {
  bulkReplayStatementType,
  signBulkReplayStatement,
  type BulkReplayStatement,
} from '../../src/signing/bulk-replay-statement';
import {
  generateKeyText,
  importSigningKey,
  publicKeySet,
  type SigningKey,
} from '../../src/signing/keys';
import { receiptType } from '../../src/signing/receipts/sign';

const counts = {
  ...{ planned: 10, replayed: 7, acknowledged: 4, failedAgain: 2, open: 1, left: 1 },
  skipped: { acknowledged: 1, removed: 1 },
};
const statement: BulkReplayStatement = {
  ...{ iss: 'waybill', v: 1, tenant: 'acme', subject: 'replay/j1', state: 'cancelled', counts },
  ...{ at: '2026-01-31T06:00:00.000Z', filter: { subscription: 'issues' }, reason: 'repaired' },
  ...{ requestedBy: 'ada', runBy: 'bob' },
};

let key: SigningKey;
let other: SigningKey;
let page: ReplayDocument;

beforeAll(async () => {
  key = await importSigningKey(await generateKeyText());
  other = await importSigningKey(await generateKeyText());
  const { state, filter, reason, requestedBy, runBy } = statement;
  page = {
    ...{ jobId: 'j1', state, filter, reason, requestedBy, runBy, ...counts },
    receipt: await signBulkReplayStatement(statement, key),
  };
});

async function codes(document: ReplayDocument, by = key): Promise<string[]> {
  const verdict = await verifyReplay(document, publicKeySet([by]));
  expect(verdict.ok).toBe(verdict.problems.length === 0);
  return verdict.problems.map(({ code }) => code);
}

const signed = (payload: object, typ: string, by = key) =>
  new CompactSign(Buffer.from(JSON.stringify(payload)))
    .setProtectedHeader({ alg: 'EdDSA', kid: key.kid, typ })
    .sign(by.privateKey);

test('a statement verifies by itself and with its page', async () => {
  expect(await codes(page)).toEqual([]);
  expect(await codes({ receipt: page.receipt })).toEqual([]);
});

test.each<[string, Partial<ReplayDocument>]>([
  ['jobId', { jobId: 'j2' }],
  ['state', { state: 'finished' }],
  ['filter', { filter: {} }],
  ['reason', { reason: 'because' }],
  ['requestedBy', { requestedBy: 'eve' }],
  ['runBy', { runBy: null }],
  ['planned', { planned: 9 }],
  ['replayed', { replayed: 8 }],
  ['acknowledged', { acknowledged: 5 }],
  ['failedAgain', { failedAgain: 1 }],
  ['open', { open: 0 }],
  ['skipped', { skipped: { acknowledged: 2 } }],
  ['left', { left: 0 }],
])('a page whose %s is another one is named by that field', async (field, change) => {
  const { problems } = await verifyReplay({ ...page, ...change }, publicKeySet([key]));
  expect(problems).toEqual([
    {
      code: 'document_mismatch',
      detail: `${field} of the page is not what the statement says`,
    },
  ]);
});

test('any altered character of the statement is detected', async () => {
  const jws = page.receipt ?? '';
  for (let place = 0; place < jws.length; place += 7) {
    const letter = jws[place] === 'A' ? 'B' : 'A';
    const altered = jws.slice(0, place) + letter + jws.slice(place + 1);
    expect(await codes({ receipt: altered })).toHaveLength(1);
  }
});

test('another key, another kind of token and another form do not pass', async () => {
  expect(await codes(page, other)).toEqual(['unknown_key']);
  const forged = await signed(statement, bulkReplayStatementType, other);
  expect(await codes({ receipt: forged })).toEqual(['bad_signature']);
  const receipt = await signed(statement, receiptType);
  expect(await codes({ receipt })).toEqual(['malformed_receipt']);
  const more = await signed({ ...statement, more: 1 }, bulkReplayStatementType);
  expect(await codes({ receipt: more })).toEqual(['malformed_payload']);
});

test('a job that is not over has nothing to verify', async () => {
  expect(await codes({ ...page, receipt: null })).toEqual(['not_over']);
});
