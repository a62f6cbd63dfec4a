/**
 * `waybill approvals`, offline: from an approver's key to a token that the deployment takes. Real: the
 * processes, their keys and Postgres.
 */
import { createHash } from 'node:crypto';
import { statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readTrustedApprovers } from '../../src/db/approvers';
import { verifyApproval } from '../../src/signing/approvals/verify';
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
    ...['approvals', 'sign', '--key', `file:${file('kate.jwk')}`, '--as', 'kate@example.com'],
    ...['--tenant', 'acme', '--about', 'action/refund-1', ...more],
  );

test('a key, a trusted name and a request make an approval', async () => {
  const made = await run('approvals', 'new-key', file('kate.jwk'));
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(statSync(file('kate.jwk')).mode & 0o777).toBe(0o600);
  const approvers = `trustedApprovers: { kate@example.com: { keys: [${made.stdout.trim()}] } }\n`;
  const settings = file('fleet.yaml', `kind: Settings\napprovalTtl: 2h\n${approvers}`);
  expect(await run('apply', '-f', settings)).toMatchObject({ code: 0, stderr: '' });
  const signed = await sign('--request', file('refund.json', '{ "to": "Ann", "cents": 500 }'));
  expect(signed).toMatchObject({ code: 0, stderr: '' });
  const { trusted, nowMs } = await readTrustedApprovers(db.as('waybill_data'));
  const verdict = await verifyApproval(signed.stdout.trim(), {
    ...{ tenantId: 'acme', about: 'action/refund-1', nowMs, trusted },
    requestDigest: createHash('sha256').update('{"cents":500,"to":"Ann"}').digest('hex'),
  });
  expect(verdict).toMatchObject({ ok: true, approval: { approver: 'kate@example.com' } });
});

test.each([
  ['neither request nor digest', [], '--request: give either'],
  ['both of them', ['--request', '{}', '--digest', 'd4'.repeat(32)], '--request: give either'],
  ['a digest that is none', ['--digest', 'latest'], '--digest: write a SHA-256'],
  ['a token for a year', ['--request', '{}', '--expires', '365d'], '--expires: must be later'],
  ['a thing of no kind', ['--request', '{}', '--about', 'refund-1'], '--about: write action/ID'],
  ['a key that is not there', ['--request', '{}', '--key', 'env:NO_SUCH_KEY'], '--key: '],
])('%s is told by its option', async (_what, more, problem) => {
  expect(failureOf(await sign(...more)).message).toContain(problem);
});
