/**
 * Rejected deliveries that are judged again after their secret was corrected. Real: socket, server,
 * signatures, secrets, Postgres.
 */
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { Harness, problem, READ, sign } from './harness';

const MENDED = 'the secret that the vendor really uses';

let h: Harness;
let hook: CatalogFixture;
beforeEach(async () => {
  h = await Harness.start();
  hook = await insertCatalog(h.db);
});
afterEach(() => h.stop());

/** Sends it as the vendor does, before anybody has told Waybill the right secret. */
async function rejected(body: string, id: string, event = 'push'): Promise<string> {
  const answer = await h.post(hook.ingressRef, body, { id, event, secret: MENDED });
  expect(answer.status).toBe(401);
  const rows = await h.stored();
  return rows.find(({ external_id }) => external_id === id)?.delivery_id ?? '';
}

function mend(): void {
  h.env['TEST_INGRESS_SECRET'] = MENDED;
}

const readmit = (delivery: string, more: { readonly tenant?: string } = {}) =>
  h.call(`/factory/deliveries/${delivery}/readmit`, { json: { reason: 'corrected' }, ...more });

test('what was rejected for a wrong secret becomes a delivery of the same bytes', async () => {
  const first = await rejected('{"n":1}', 'one');
  mend();
  const answer = await readmit(first);
  expect(answer).toMatchObject({ status: 202, body: { outcome: 'accepted' } });
  const made = answer.body['deliveryId'];
  expect(made).not.toBe(first);
  expect(h.started).toEqual([made]);
  const [before, after] = await h.stored();
  expect(before).toMatchObject({ delivery_id: first, state: 'Rejected' });
  expect(after).toMatchObject({
    ...{ delivery_id: made, state: 'Received', external_id: 'one', event_type: 'push' },
    evidence: { scheme: 'hmac', secretId: 'current' },
  });
  expect(after?.payload?.toString()).toBe('{"n":1}');
  const shown = await h.call(`/factory/deliveries/${String(made)}`);
  expect(shown.body).toMatchObject({ readmittedFrom: first });
  const audit = await h.db.rows(
    'select actor, action, subject, detail from waybill.audit_log order by audit_id',
  );
  expect(audit).toEqual([
    {
      ...{ actor: 'ada@example.test', action: 'readmit', subject: `delivery/${first}` },
      detail: { reason: 'corrected', deliveryId: made },
    },
  ]);
});

test('nothing is readmitted through what is revoked or deactivated', async () => {
  const first = await rejected('{"n":1}', 'one');
  mend();
  for (const [table, column, ended, usual] of [
    ['connector_versions', 'status', 'revoked', 'active'],
    ['instances', 'status', 'revoked', 'enabled'],
    ['subscriptions', 'state', 'deactivated', 'active'],
  ] as const) {
    await h.db.rows(`update waybill.${table} set ${column} = $1`, [ended]);
    expect(problem(await readmit(first))).toMatchObject({ status: 410, code: 'ingress_gone' });
    await h.db.rows(`update waybill.${table} set ${column} = $1`, [usual]);
  }
  expect((await h.stored()).map(({ state }) => state)).toEqual(['Rejected']);
  expect(h.started).toEqual([]);
});

test('two calls are one readmission, also at once', async () => {
  const first = await rejected('{"n":1}', 'one');
  mend();
  const answers = await Promise.all([1, 2, 3, 4].map(() => readmit(first)));
  const made = new Set(answers.map(({ body }) => body['deliveryId']));
  expect(made.size).toBe(1);
  const outcomes = answers.map(({ body }) => body['outcome']).sort();
  expect(outcomes).toEqual(
    ['accepted', ...Array.from({ length: 3 }, () => 'already_readmitted')].sort(),
  );
  expect(h.started).toEqual([...made]);
});

test('one that the vendor has sent again meanwhile is a duplicate of that', async () => {
  const first = await rejected('{"n":1}', 'one');
  mend();
  const again = await h.post(hook.ingressRef, '{"n":1}', { id: 'one', secret: MENDED });
  expect(again.body['outcome']).toBe('accepted');
  expect(await readmit(first)).toMatchObject({ status: 202, body: { outcome: 'duplicate' } });
  const states = (await h.stored()).map(({ state }) => state).sort();
  expect(states).toEqual(['Deduplicated', 'Received', 'Rejected']);
  expect(h.started).toHaveLength(1);
});

test('one that had come before it was rejected is a duplicate, although its key is forgotten by now', async () => {
  const sent = await h.post(hook.ingressRef, '{"n":1}', { id: 'one' });
  // Accepted 100 minutes ago, sent again and rejected 50 minutes ago: within the window of 60.
  await h.db.rows(`update waybill.deliveries set received_at = now() - interval '100 minutes'`);
  const again = await rejected('{"n":1}', 'one');
  await h.db.rows(
    `update waybill.deliveries set received_at = now() - interval '50 minutes' where state = 'Rejected'`,
  );
  await h.db.rows(`update waybill.dedup_keys set expires_at = now() - interval '40 minutes'`);
  const [, copy] = (await h.stored()).map(({ delivery_id }) => delivery_id);
  mend();
  const answer = await readmit(copy ?? again);
  expect(answer.body['outcome']).toBe('duplicate');
  const shown = await h.call(`/factory/deliveries/${String(answer.body['deliveryId'])}`);
  expect(shown.body).toMatchObject({ duplicateOf: sent.body['deliveryId'] });
  expect(h.started).toHaveLength(1);
});

test('two that were rejected within one window become one delivery, however late the second is readmitted', async () => {
  await rejected('{"n":1}', 'one');
  await rejected('{"n":1}', 'one');
  const [first = '', second = ''] = (await h.stored()).map(({ delivery_id }) => delivery_id);
  mend();
  expect((await readmit(first)).body['outcome']).toBe('accepted');
  await h.db.rows(`update waybill.dedup_keys set expires_at = now() - interval '1 second'`);
  await h.db.rows(
    `update waybill.deliveries set received_at = received_at + interval '2 hours' where state = 'Received'`,
  );
  expect((await readmit(second)).body['outcome']).toBe('duplicate');
  expect(h.started).toHaveLength(1);
});

test('one whose id came outside the window of its receipt is an event of its own', async () => {
  await h.post(hook.ingressRef, '{"n":1}', { id: 'one' });
  await h.db.rows(`update waybill.deliveries set received_at = now() - interval '3 hours'`);
  await h.db.rows(`update waybill.dedup_keys set expires_at = now() - interval '2 hours'`);
  await rejected('{"n":1}', 'one');
  const second = (await h.stored()).find(({ state }) => state === 'Rejected')?.delivery_id ?? '';
  mend();
  expect((await readmit(second)).body['outcome']).toBe('accepted');
});

test("a handshake that was rejected is nobody's delivery, also under the right secret", async () => {
  const chat = await insertCatalog(h.db, { tenant: 'rival', scheme: 'slack' });
  const body = '{"type":"url_verification","challenge":"abc"}';
  const at = String(Math.floor(Date.now() / 1000));
  const headers = {
    ...{ 'x-slack-request-timestamp': at },
    'x-slack-signature': `v0=${sign(Buffer.from(`v0:${at}:${body}`), MENDED)}`,
  };
  expect((await h.post(chat.ingressRef, body, { headers })).status).toBe(401);
  const [row] = await h.stored('rival');
  mend();
  expect((await readmit(row?.delivery_id ?? '', { tenant: 'rival' })).body).toEqual({
    ...{ outcome: 'ignored', deliveryId: null },
  });
  expect(h.started).toEqual([]);
});

test('with the secret still wrong it stays rejected, and may be tried again', async () => {
  const first = await rejected('{"n":1}', 'one');
  expect(problem(await readmit(first))).toMatchObject({ status: 422, code: 'readmission_refused' });
  expect((await h.stored()).map(({ state }) => state)).toEqual(['Rejected']);
  mend();
  expect((await readmit(first)).body['outcome']).toBe('accepted');
});

test('an event that the subscription does not take is not stored', async () => {
  const only = await insertCatalog(h.db, { subscription: 'only', eventTypes: ['issues'] });
  const answer = await h.post(only.ingressRef, '{}', { id: 'other', secret: MENDED });
  expect(answer.status).toBe(401);
  mend();
  const [row] = await h.stored();
  expect((await readmit(row?.delivery_id ?? '')).body).toEqual({
    ...{ outcome: 'ignored', deliveryId: null },
  });
});

test('its age is judged as of its receipt, not as of now', async () => {
  const billing = await insertCatalog(h.db, { tenant: 'rival', scheme: 'stripe' });
  const nowS = Math.floor(Date.now() / 1000);
  const send = async (atS: number, id: string): Promise<string> => {
    const body = JSON.stringify({ id, type: 'invoice.paid' });
    const headers = {
      'stripe-signature': `t=${atS},v1=${sign(Buffer.from(`${atS}.${body}`), MENDED)}`,
    };
    expect((await h.post(billing.ingressRef, body, { headers })).status).toBe(401);
    return (await h.stored('rival')).at(-1)?.delivery_id ?? '';
  };
  const fresh = await send(nowS - 7_200, 'evt_1');
  const ahead = await send(nowS, 'evt_2');
  // Both came two hours ago; only the first one was signed then.
  await h.db.rows(`update waybill.deliveries set received_at = received_at - interval '2 hours'`);
  mend();
  expect((await readmit(fresh, { tenant: 'rival' })).body['outcome']).toBe('accepted');
  expect(problem(await readmit(ahead, { tenant: 'rival' }))).toMatchObject({
    ...{ code: 'readmission_refused', detail: expect.stringMatching(/after receipt/) as unknown },
  });
});

test('its secret must have counted at its receipt', async () => {
  const first = await rejected('{"n":1}', 'one');
  mend();
  await h.db.rows(`update waybill.ingresses set secrets =
    jsonb_set(secrets, '{0,notBefore}', to_jsonb((now() + interval '1 hour')::text))`);
  expect(problem(await readmit(first)).code).toBe('secret_unavailable');
  await h.db.rows(`update waybill.ingresses set secrets =
    jsonb_set(secrets, '{0,notBefore}', to_jsonb((now() - interval '1 hour')::text))`);
  expect((await readmit(first)).body['outcome']).toBe('accepted');
});

test('only a rejected one whose bytes are kept can be readmitted, by its own tenant', async () => {
  const first = await rejected('{"n":1}', 'one');
  mend();
  const good = await h.post(hook.ingressRef, '{"n":2}', { id: 'two', secret: MENDED });
  expect(problem(await readmit(String(good.body['deliveryId'])))).toMatchObject({
    ...{ status: 409, code: 'delivery_not_rejected', state: 'Received' },
  });
  expect(problem(await readmit(first, { tenant: 'rival' }))).toMatchObject({ code: 'not_found' });
  const reading = await h.token({ scopes: [READ] });
  const forbidden = await h.call(`/factory/deliveries/${first}/readmit`, {
    ...{ json: { reason: 'corrected' }, token: reading },
  });
  expect(problem(forbidden)).toMatchObject({ code: 'scope_missing' });
  await h.db.rows(`update waybill.rejected_payloads set expires_at = now() - interval '1 second'`);
  expect(problem(await readmit(first))).toMatchObject({ status: 410, code: 'rejected_bytes_gone' });
});

test('nothing but what its scheme reads is kept of it, and of a token nothing at all', async () => {
  const headers = {
    authorization: 'Bearer planted-1',
    cookie: 'planted-2',
    'x-other': 'planted-3',
  };
  await h.post(hook.ingressRef, '{}', { id: 'one', secret: 'wrong', headers });
  const kept = await h.db.rows<{ request: { headers: [string, string][] } }>(
    'select request from waybill.rejected_payloads',
  );
  expect(JSON.stringify(kept)).not.toContain('planted');
  const names = kept.flatMap(({ request }) => request.headers.map(([name]) => name.toLowerCase()));
  expect(names).toEqual(expect.arrayContaining(['x-hub-signature-256', 'x-github-delivery']));
  const gitlab = await insertCatalog(h.db, { tenant: 'rival', scheme: 'gitlab' });
  const sent = await fetch(`${h.url}/webhooks/${gitlab.ingressRef}`, {
    ...{ method: 'POST', body: '{}', headers: { 'x-gitlab-token': 'planted-4' } },
  });
  expect(sent.status).toBe(401);
  const rows = await h.db.rows<{ request: unknown }>(
    `select request from waybill.rejected_payloads where tenant_id = 'rival'`,
  );
  expect(rows).toEqual([{ request: null }]);
});
