/**
 * `waybill deliveries` and `waybill receipt verify` against real API and worker processes. Real: all
 * processes, Postgres, Temporal, the target. Asserted: pages for people, JSON for programs, failures.
 */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { documentProblems, ReceiptDocument } from '../../src/cli/receipt/document';
import { DeliveryHistory, DeliveryPage, ReplayAccepted } from '../../src/schemas/api-deliveries';
import type { CatalogFixture } from '../support/catalog-fixture';
import { FaultRig, INGRESS_SECRET, OTHER_SECRET } from '../support/fault-rig';
import { until } from '../support/until';
import { postWebhook } from '../support/vendor';
import { failureOf, newHome, removeHomes, waybill, type Environment } from './waybill';

let faults: FaultRig;
let fixture: CatalogFixture;
let url: string;
let env: Environment;
let failed: string;

beforeAll(async () => {
  faults = await FaultRig.start();
  fixture = await faults.rig.catalog();
  ({ url } = await faults.api());
  await faults.worker();
  env = { WAYBILL_HOME: faults.home, WAYBILL_API_URL: url, WAYBILL_TENANT: fixture.tenant };
  faults.rig.receiver.otherwise = { status: 503 };
  failed = await received('release');
  await settled(failed, 'Failed');
});
afterAll(async () => {
  await faults.stop();
  removeHomes();
});

/** A delivery that came in; answers its id. */
async function received(event: string): Promise<string> {
  const { ingressRef } = fixture;
  const post = { url, ingressRef, secret: INGRESS_SECRET, id: randomUUID(), event };
  const answer = await postWebhook(post);
  return z.object({ deliveryId: z.string() }).parse(await answer.json()).deliveryId;
}

async function show(id: string): Promise<DeliveryHistory> {
  const { stdout } = await waybill(['deliveries', 'show', id, '--json'], env);
  return DeliveryHistory.parse(JSON.parse(stdout));
}

async function settled(id: string, state: string): Promise<void> {
  await until(`${id} is ${state}`, async () => ((await show(id)).state === state ? true : null));
}

test('list finds a failed delivery by state and time, and says its lane, as a table and as JSON', async () => {
  const { rig } = faults;
  const quick = await rig.accept(await rig.catalog({ lane: 'express', subscription: 'quick' }));
  await rig.reaches(quick, 'Failed');
  const args = ['deliveries', 'list', '--state', 'Failed', '--since', '1h'];
  const forPeople = await waybill(args, env);
  expect(forPeople).toMatchObject({ code: 0, stderr: '' });
  expect(forPeople.stdout).toMatch(/^DELIVERY +STATE +EVENT +SUBSCRIPTION +LANE/);
  expect(forPeople.stdout).toMatch(
    new RegExp(`^${failed} +Failed +release +pushes +durable `, 'm'),
  );
  expect(forPeople.stdout).toMatch(
    new RegExp(`^${quick.deliveryId} +Failed +push +quick +express `, 'm'),
  );
  const { stdout } = await waybill([...args, '--json'], env);
  const page = DeliveryPage.parse(JSON.parse(stdout));
  const lanes = page.deliveries.map(({ deliveryId, lane }) => [deliveryId, lane]);
  expect(lanes).toEqual(
    expect.arrayContaining([
      [failed, 'durable'],
      [quick.deliveryId, 'express'],
    ]),
  );
  const narrow = ['--event', 'release', '--direction', 'inbound', '--since', '1h'];
  const found = await waybill(['deliveries', 'list', ...narrow, '--json'], env);
  expect(found.stdout).toContain(failed);
  const early = await waybill(['deliveries', 'list', ...narrow, '--until', '30m'], env);
  expect(early).toMatchObject({ code: 0, stdout: 'no delivery matches\n' });
  const none = await waybill(['deliveries', 'list', '--state', 'Replayed'], env);
  expect(none.stdout).toBe('no delivery matches\n');
});

test('list goes on where the page before ended', async () => {
  await received('push');
  const first = await waybill(['deliveries', 'list', '--limit', '1'], env);
  const cursor = /--cursor (\S+)/.exec(first.stdout)?.[1] ?? '';
  const next = await waybill(['deliveries', 'list', '--cursor', cursor, '--json'], env);
  const [following] = DeliveryPage.parse(JSON.parse(next.stdout)).deliveries;
  expect(first.stdout).not.toContain(following?.deliveryId);
  const wrong = await waybill(['deliveries', 'list', '--cursor', `${cursor}x`], env);
  expect(failureOf(wrong).code).toBe('invalid_cursor');
});

test('show is a page that says what the delivery waits for and what to do', async () => {
  const { code, stdout } = await waybill(['deliveries', 'show', failed], env);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^state +Failed after 3 attempts$/m);
  expect(stdout).toMatch(/^waits for +a person: .*503.*`waybill deliveries replay .*--reason/m);
  expect(stdout).toMatch(new RegExp(`^Temporal +delivery/${fixture.tenant}/${failed}$`, 'm'));
  for (const section of ['EVIDENCE', 'ATTEMPTS', 'RECEIPTS']) expect(stdout).toContain(section);
  expect(stdout).toMatch(/^ +NO +SERIES +OPENED +TOOK +OUTCOME +STATUS +/m);
  expect(stdout).toMatch(/^ +3 +1 +.* ms +refused +503 +/m);
});

test('replay dispatches it again; a second one says why not', async () => {
  const id = await received('issues');
  await settled(id, 'Failed');
  faults.rig.receiver.otherwise = { status: 200 };
  const args = ['deliveries', 'replay', id, '--reason', 'repaired'];
  const { stdout } = await waybill([...args, '--json'], env);
  expect(ReplayAccepted.parse(JSON.parse(stdout))).toMatchObject({ deliveryId: id, series: 2 });
  await settled(id, 'Acknowledged');
  faults.rig.receiver.otherwise = { status: 503 };
  const history = await show(id);
  expect(history.replays).toMatchObject([{ reason: 'repaired', series: 2 }]);
  expect(documentProblems(ReceiptDocument.parse(history))).toEqual([]);
  const attemptHistory = history.attemptHistory.map((one) => ({ ...one, status: 201 }));
  expect(documentProblems(ReceiptDocument.parse({ ...history, attemptHistory }))).toMatchObject([
    { detail: 'status of the attempt of the document is not what the receipt says' },
  ]);
  const { message, code } = failureOf(await waybill(args, env));
  expect(code).toBe('delivery_not_failed');
  expect(message).toContain('Acknowledged');
});

test('a chain verifies offline from JSON or from compact receipts; one that was cut does not', async () => {
  const home = newHome();
  const keys = path.join(home, 'keys.json');
  writeFileSync(keys, await (await fetch(`${url}/.well-known/jwks.json`)).text());
  const offline = { WAYBILL_HOME: home };
  const history = await show(failed);
  const ok = await waybill(['receipt', 'verify', '--jwks', keys], offline, JSON.stringify(history));
  expect(ok).toMatchObject({ code: 0, stdout: 'ok: 1 receipt, one unbroken chain\n' });
  const lines = history.receipts.map(({ jws }) => jws).join('\n');
  const verdict = await waybill(
    ['receipt', 'verify', '-', '--jwks', keys, '--json'],
    offline,
    lines,
  );
  expect(JSON.parse(verdict.stdout)).toEqual({ ok: true, problems: [], receipts: 1 });
  const other = lines.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A'));
  const broken = await waybill(['receipt', 'verify', '--jwks', keys], offline, other);
  expect(broken.code).toBe(1);
  expect(broken.stdout).toMatch(/^receipt 1: .*\((bad_signature|malformed_receipt)\)\n$/);
  const { message, code } = failureOf(broken);
  expect(code).toBe('receipt_invalid');
  expect(message).toContain('1 problem');
});

test.each([
  ['deliveryId', '01a22913-0450-72c9-86c9-91ea17dd1152'],
  ['state', 'Acknowledged'],
  ['payloadSha256', '0'.repeat(64)],
])('a document whose %s is not what its receipts say does not verify', async (field, value) => {
  const home = newHome();
  const keys = path.join(home, 'keys.json');
  writeFileSync(keys, await (await fetch(`${url}/.well-known/jwks.json`)).text());
  const altered = JSON.stringify({ ...(await show(failed)), [field]: value });
  const args = ['receipt', 'verify', '--jwks', keys];
  const verdict = await waybill(args, { WAYBILL_HOME: home }, altered);
  expect(verdict.code).toBe(1);
  expect(verdict.stdout).toBe(
    `receipt 1: ${field} of the document is not what the receipt says (document_mismatch)\n`,
  );
});

test('who may not, or does not exist, is told so in one line', async () => {
  const show = ['deliveries', 'show'];
  const list = ['deliveries', 'list'];
  const failure = async (args: readonly string[], more: Environment = {}) =>
    failureOf(await waybill(args, { ...env, ...more }));
  expect((await failure([...show, randomUUID()])).code).toBe('not_found');
  expect((await failure([...show, failed, '--tenant', 'other'])).code).toBe('not_found');
  expect((await failure(list, { WAYBILL_TOKEN: 'a.b.c' })).code).toBe('unauthenticated');
  const nobody = await failure(list, { WAYBILL_TENANT: '' });
  expect(nobody.code).toBe('config_invalid');
  expect(nobody.message).toContain('--tenant');
  const elsewhere = await failure(list, { WAYBILL_API_URL: 'https://waybill.example' });
  expect(elsewhere.message).toContain('WAYBILL_TOKEN');
});

test('readmit makes deliveries of what a corrected secret verifies, and tells what stays refused', async () => {
  const { rig } = faults;
  const own = await rig.catalog({ subscription: 'rotated' });
  const post = (secret: string) =>
    postWebhook({ url, ingressRef: own.ingressRef, secret, id: randomUUID(), event: 'push' });
  expect((await post(OTHER_SECRET)).status).toBe(401);
  expect((await post('nobody knows it')).status).toBe(401);
  const args = ['deliveries', 'readmit', '--subscription', 'rotated', '--reason', 'corrected'];
  const early = await waybill(args, env);
  expect(failureOf(early)).toMatchObject({ code: 'not_readmitted' });
  await rig.db.rows(
    `update waybill.ingresses set secrets = jsonb_set(secrets, '{0,ref}', '"env:TEST_OTHER_SECRET"')
      where ingress_ref = $1`,
    [own.ingressRef],
  );
  const mended = await waybill([...args, '--json'], env);
  const { readmitted } = z
    .object({
      readmitted: z.array(
        z.object({
          outcome: z.string(),
          deliveryId: z.string().nullable(),
          why: z.string().nullable(),
        }),
      ),
    })
    .parse(JSON.parse(mended.stdout));
  expect(readmitted).toMatchObject([
    { outcome: 'accepted', why: null },
    { outcome: 'refused', deliveryId: null },
  ]);
  expect(mended.code).toBe(1);
  const again = await waybill(args, env);
  expect(again.stdout).toMatch(/already_readmitted +[0-9a-f-]{36}/);
  const none = await waybill(
    [...args, '--since', '2026-01-01T00:00:00Z', '--subscription', 'none'],
    env,
  );
  expect(none).toMatchObject({ code: 0, stdout: 'no rejected delivery matches\n' });
  const unnamed = await waybill(['deliveries', 'readmit', '--reason', 'corrected'], env);
  expect(failureOf(unnamed)).toMatchObject({ code: 'config_invalid' });
  expect((await show(readmitted[0]?.deliveryId ?? '')).readmittedFrom).not.toBeNull();
});
