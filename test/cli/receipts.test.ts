/**
 * Receipts over HTTP and on the command line. Real: the command's process, socket, server, Postgres, row security,
 * signatures. Doubled: the starter of workflows; the attempt of the delivery is made as a worker makes it.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { documentProblems, ReceiptDocument } from '../../src/cli/receipt/document';
import type { DeliveryHistory } from '../../src/schemas/api-deliveries';
import type { ReceiptChain } from '../../src/schemas/api-receipts';
import { verifyReceiptChain } from '../../src/signing/receipts/verify-chain';
import { stepBulkReplay } from '../../src/services/bulk-replays';
import { decideReplay } from '../../src/services/replays';
import { generateKeyText, importSigningKey, publicKeySet } from '../../src/signing/keys';
import {
  ACTIONS_READ,
  ACTIONS_RUN,
  Harness,
  problem,
  RECEIPTS_READ,
  type Answer,
} from '../http/harness';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { moveJob, plannedJob } from '../support/bulk-replays';
import { insertCatalog } from '../support/catalog-fixture';
import { receive } from '../support/stored-deliveries';
import {
  environmentOf,
  failureOf,
  newHome,
  removeHomes,
  waybill,
  type Environment,
} from './waybill';

let h: Harness;
let env: Environment;
let keys: string;
let failed: string;
const NOBODYS = '01a22913-0450-72c9-86c9-91ea17dd1152';
const offline: Environment = { WAYBILL_HOME: newHome() };

beforeAll(async () => {
  h = await Harness.start();
  const rig = new Rig(postgresFixture(h.db));
  await rig.account({ instance: 'tracker' });
  await rig.start('order-1');
  const reason = { reason: 'ordered twice' };
  await h.call('/v1/actions/order-1/cancel', { json: reason, scopes: [ACTIONS_RUN] });
  const { deliveryId } = await receive(h.db, await insertCatalog(h.db));
  await h.fail('acme', deliveryId);
  failed = deliveryId;
  env = await environmentOf(h, RECEIPTS_READ, ACTIONS_READ, 'factory.replays.read');
  keys = path.join(newHome(), 'keys.json');
  writeFileSync(keys, JSON.stringify(publicKeySet([h.key])));
});
afterAll(async () => {
  await h.stop();
  removeHomes();
});

const exported = () => waybill(['receipt', 'export'], env);
const verify = (input: string, ...more: string[]) =>
  waybill(['receipt', 'verify', '--jwks', keys, ...more], offline, input);
const verifyWith = (sets: readonly string[], input: string) =>
  waybill(['receipt', 'verify', ...sets.flatMap((set) => ['--jwks', set])], offline, input);

test('what is exported verifies offline, and says how much it is', async () => {
  const { code, stdout } = await exported();
  expect(code).toBe(0);
  expect(await verify(stdout)).toMatchObject({
    code: 0,
    stdout: 'ok: 2 chains, 2 receipts, 0 checkpoints of tenant acme, nothing is missing\n',
  });
  const file = path.join(newHome(), 'acme.ndjson');
  writeFileSync(file, stdout);
  const told = await waybill(['receipt', 'verify', file, '--jwks', keys, '--json'], offline);
  expect(JSON.parse(told.stdout)).toMatchObject({ ok: true, tenant: 'acme', chains: 2 });
});

test('a chain that is missing is named, and so is one that was altered', async () => {
  const lines = (await exported()).stdout.trimEnd().split('\n');
  const without = lines.filter((line) => !line.includes(`{"chain":"delivery/${failed}"`));
  const missing = await verify(without.join('\n'));
  expect(missing.code).toBe(1);
  expect(missing.stdout).toBe(`delivery/${failed}: the chain is missing (missing_chain)\n`);
  expect(failureOf(missing).code).toBe('receipt_invalid');
  const altered = lines.map((line) =>
    line.startsWith('{"chain":"action/order-1"') ? line.replace('order-1', 'order-2') : line,
  );
  const { stdout } = await verify(altered.join('\n'));
  expect(stdout).toContain('action/order-1: the chain is missing (missing_chain)\n');
  expect(stdout).toContain(
    'action/order-2, receipt 1: belongs to action/order-1 (other_subject)\n',
  );
  const cut = await verify(lines.slice(0, -1).join('\n'));
  expect(cut.stdout).toContain('(no_statement)');
});

test("an action's page is held against its receipts", async () => {
  const { stdout } = await waybill(['actions', 'show', 'order-1', '--json'], env);
  expect(await verify(stdout)).toMatchObject({
    ...{ code: 0, stdout: 'ok: 1 receipt, one unbroken chain\n' },
  });
  const completed = stdout.replace('"state": "cancelled"', '"state": "completed"');
  expect((await verify(completed)).stdout).toContain('state of the document is not what');
  const other = stdout.replace(/"requestDigest": "../, '"requestDigest": "zz');
  expect((await verify(other)).stdout).toContain('requestDigest of the document is not what');
  expect((await waybill(['actions', 'show', 'order-1'], env)).stdout).toMatch(
    /^RECEIPTS\n.*SEQ.*KIND/m,
  );
});

test("every signed fact of a delivery's page is held against its receipts", async () => {
  const ref = await receive(h.db, await insertCatalog(h.db, { subscription: 'shown' }));
  await h.fail('acme', ref.deliveryId);
  const services = { data: h.db.as('waybill_data'), signingKey: h.key };
  await decideReplay(services, ref, { replayedBy: 'ada', reason: 'repaired' });
  const { body } = await h.call<DeliveryHistory>(`/factory/deliveries/${ref.deliveryId}`);
  const wrong = (change: object) =>
    documentProblems(ReceiptDocument.parse({ ...body, ...change })).map(({ detail }) => detail);
  expect(wrong({})).toEqual([]);
  const changes = {
    ...{ deliveryId: NOBODYS, direction: 'outbound', connectorId: 'gitlab', externalId: 'other' },
    ...{ subscriptionId: null, payloadSha256: '0'.repeat(64), payloadBytes: 1, eventType: 'pull' },
    state: 'Acknowledged',
  };
  for (const [field, value] of Object.entries(changes)) {
    const told = wrong({ [field]: value });
    expect(new Set(told)).toEqual(
      new Set([`${field} of the document is not what the receipt says`]),
    );
  }
  const [replayed] = body.replays;
  expect(replayed).toMatchObject({ replayedBy: 'ada' });
  expect(wrong({ replays: [{ ...replayed, replayedBy: 'eve' }] })).toEqual([
    'replayedBy of the document is not what the receipt says',
  ]);
  expect(wrong({ replays: [{ ...replayed, reason: 'none' }] })).toEqual([
    'reason of the replay of the document is not what the receipt says',
  ]);
});

test('what came of a bulk replay verifies offline, and an altered page is named', async () => {
  const job = await plannedJob(h.db, { tenant: 'acme' });
  const shown = async () => (await waybill(['replay', 'show', job.jobId, '--json'], env)).stdout;
  expect((await verify(await shown())).stdout).toContain('(not_over)\n');
  await moveJob(h.db, job, 'cancel');
  await stepBulkReplay(
    {
      data: h.db.as('waybill_data'),
      signingKey: h.key,
      random: () => 0,
      nudge: () => Promise.resolve(),
    },
    job,
    new AbortController().signal,
  );
  const page = await shown();
  const ok = `ok: replay/${job.jobId} of tenant acme is cancelled, 1 planned, 0 acknowledged\n`;
  expect(await verify(page)).toMatchObject({ code: 0, stdout: ok });
  const { receipt } = JSON.parse(page) as { readonly receipt: string };
  expect(await verify(receipt)).toMatchObject({ code: 0, stdout: ok });
  expect(JSON.parse((await verify(receipt, '--json')).stdout)).toMatchObject({
    ...{ ok: true, problems: [], statement: { counts: { planned: 1, left: 1 } } },
  });
  const altered = await verify(page.replace('"acknowledged": 0', '"acknowledged": 1'));
  expect(altered.code).toBe(1);
  expect(altered.stdout).toBe(
    'bulk replay: acknowledged of the page is not what the statement says (document_mismatch)\n',
  );
  expect(failureOf(altered).code).toBe('receipt_invalid');
});

test('what was signed before and after a change of the key verifies with both key sets', async () => {
  const lines = (await exported()).stdout;
  const newer = path.join(newHome(), 'newer.json');
  const key = await importSigningKey(await generateKeyText());
  writeFileSync(newer, JSON.stringify(publicKeySet([key])));
  const alone = await waybill(['receipt', 'verify', '--jwks', newer], offline, lines);
  expect(alone.stdout).toContain('(unknown_key)');
  for (const first of [newer, keys]) {
    const both = await verifyWith([first, newer, keys], lines);
    expect(both).toMatchObject({ code: 0 });
  }
});

test('what is no export is told in one line', async () => {
  const { code, message } = failureOf(await verify('{"some": "thing"}'));
  expect(code).toBe('receipt_invalid');
  expect(message).toContain('`receipt export`');
  const absent = await waybill(['receipt', 'verify', '/nowhere/at-all', '--jwks', keys], offline);
  expect(failureOf(absent).code).toBe('receipt_invalid');
});

describe('over HTTP', () => {
  const chain = (about: string, tenant = 'acme') =>
    h.call<ReceiptChain>(`/v1/receipts/${about}`, { tenant, scopes: [RECEIPTS_READ] });

  test('a chain is there as long as its receipts, whatever became of what it is about', async () => {
    const { status, body } = await chain('action/order-1');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      subject: 'action/order-1',
      receipts: [{ seq: 1, kind: 'action_cancelled', previousDigest: null }],
    });
    const jws = body.receipts.map((receipt) => receipt.jws);
    expect(await verifyReceiptChain(jws, publicKeySet([h.key]))).toMatchObject({ ok: true });
    await h.db.rows('delete from waybill.delivery_attempts');
    await h.db.rows('delete from waybill.deliveries');
    expect((await chain(`delivery/${failed}`)).status).toBe(200);
  });

  test('of another tenant, or of nothing, there is none', async () => {
    const rival = await chain('action/order-1', 'rival');
    expect(problem(rival as unknown as Answer).code).toBe('not_found');
    const nothing = await chain('action/nothing');
    expect(problem(nothing as unknown as Answer).code).toBe('not_found');
    const { stdout } = await waybill(['receipt', 'export'], {
      ...env,
      WAYBILL_TOKEN: await h.token({ tenant: 'rival', scopes: [RECEIPTS_READ] }),
    });
    expect(stdout).not.toContain('order-1');
    expect((await verify(stdout)).stdout).toContain('ok: 0 chains');
  });

  test('another scope is not enough', async () => {
    const answer = await h.call('/v1/receipts/export', { scopes: [ACTIONS_READ] });
    expect(problem(answer).code).toBe('scope_missing');
  });
});
