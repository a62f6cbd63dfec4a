/**
 * No secret is left anywhere. Real: API, worker and host as processes that tell all that they can tell,
 * Postgres, Temporal, sockets. A run with deliveries that arrive, are refused, fail and are replayed,
 * actions, sending by HTTP and gRPC, also with an approval, and a subscription that is made by the API;
 * targets send back whatever they were sent. Then every table, log, history, event and answer is searched
 * for every secret that there was.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { insertCatalog } from '../support/catalog-fixture';
import { TENANT } from '../support/action-fleet';
import { PROVIDER_TOKEN } from '../support/action-rig-parts';
import { FullRun } from '../support/full-run';
import { httpOperation, insertConnection } from '../support/sending-rig';
import { finds, historiesOf, rowsOf, tracesOf, type Found } from '../support/secret-hunt';
import { until } from '../support/until';
import { VaultPeer } from '../support/vault';
import { JSON_TYPE, runActions, sendByGrpc, sendByHttp, subscribe } from './calls';

const plant = (name: string) => `planted-${name}-${randomUUID()}`;
const whsec = () => `whsec_${Buffer.from(randomUUID()).toString('base64')}`;

const INGRESS = plant('ingress');
const VAULT_TOKEN = `hvs.${plant('vault-token')}`;
/** What requests carry that is nobody's business here: of vendors, and of a wrong caller. */
const CARRIED = {
  authorization: plant('authorization'),
  cookie: plant('cookie'),
  unknownHeader: plant('unknown-header'),
  query: plant('query'),
  wrongBearer: plant('wrong-bearer'),
};
/** In addresses of targets: whoever publishes a target has written them there. */
const IN_URLS = { targetUrl: plant('target-url'), failingUrl: plant('failing-url') };
const GIVEN = {
  PLANTED_TARGET: whsec(),
  PLANTED_SINK: whsec(),
  PLANTED_NO_KEY: plant('no-key'),
  PLANTED_VENDOR: plant('vendor'),
  PLANTED_VENDOR_SIGNING: whsec(),
};

let run: FullRun;
let secrets: Record<string, string>;
let logs: Found[];

beforeAll(async () => {
  run = await FullRun.start({ ...GIVEN, VAULT_TOKEN });
  run.vault.token = VAULT_TOKEN;
  run.vault.put('kv/hooks', { github: INGRESS });
  secrets = {
    ...{ ingress: INGRESS, vaultToken: VAULT_TOKEN, ...CARRIED, ...GIVEN },
    ...{ providerToken: PROVIDER_TOKEN, apiToken: run.token },
    signingKey: privatePart(run.rig.keyText),
    hostKey: privatePart(run.rig.hosts[0]?.keyText ?? ''),
    developmentKey: privatePart(run.developmentKey()),
  };
  await publish();
  await deliveries();
  await Promise.all([runActions(run), sendByHttp(run), sendByGrpc(run)]);
  await reading();
  for (const [index, { authorization }] of run.proxy.passed.entries()) {
    secrets[`routeToken${String(index)}`] = authorization.replace(/^bearer /i, '');
  }
  logs = await run.end();
}, 120_000);
afterAll(async () => {
  await run.stop();
});

function privatePart(keyText: string): string {
  return (JSON.parse(keyText) as { d: string }).d;
}

const SUBSCRIPTIONS = ['good', 'refusing', 'gone', 'unsigned'] as const;
type Subscription = (typeof SUBSCRIPTIONS)[number];

async function publish(): Promise<void> {
  const { db } = run.rig;
  const { url } = run.receiver;
  const common = {
    tenant: TENANT,
    secrets: [{ id: 'current', ref: 'vault:kv/hooks#github' }],
    targetSecretRefs: ['env:PLANTED_TARGET'],
  };
  const targets: Record<Subscription, object> = {
    good: { targetUrl: `${url}/200/${IN_URLS.targetUrl}?token=${IN_URLS.targetUrl}` },
    refusing: { targetUrl: `${url}/401?token=${IN_URLS.targetUrl}` },
    gone: { targetUrl: `http://127.0.0.1:1/${IN_URLS.failingUrl}?token=${IN_URLS.failingUrl}` },
    unsigned: { targetUrl: `${url}/200`, targetSecretRefs: ['env:PLANTED_NO_KEY'] },
  };
  for (const subscription of SUBSCRIPTIONS) {
    await insertCatalog(db, { ...common, subscription, ...targets[subscription] });
  }
  await db.rows(
    `insert into waybill.event_sinks (tenant_id, sink_id, url, timeout_ms, topics, secret_refs, state,
        passed) values ($1, 'audit', $2, 2000, '{*}', '{env:PLANTED_SINK}', 'active', 0)`,
    [TENANT, `${url}/200/events?token=${IN_URLS.targetUrl}`],
  );
  const operation = (status: number, changes: object) =>
    httpOperation(url, { url: `${url}/${String(status)}/sent`, ...changes });
  await insertConnection(db, {
    ...{ tenant: TENANT, name: 'pay', secretRef: 'env:PLANTED_VENDOR' },
    signingSecretRefs: ['env:PLANTED_VENDOR_SIGNING'],
    operations: {
      bearer: operation(200, { auth: { kind: 'bearer' }, standardWebhooks: true }),
      charge: operation(200, { auth: { kind: 'bearer' }, sideEffect: 'external' }),
      query: operation(401, { auth: { kind: 'query', name: 'token' } }),
      basic: operation(500, { auth: { kind: 'basic', user: 'waybill' } }),
      gone: httpOperation('http://127.0.0.1:1', { auth: { kind: 'query', name: 'token' } }),
    },
  });
}

const ingressOf = (subscription: Subscription) => `${TENANT}-${subscription}-ingress`;

async function webhook(ingressRef: string, secret = INGRESS): Promise<number> {
  const body = JSON.stringify({ id: randomUUID() });
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const at = `/webhooks/${ingressRef}?token=${CARRIED.query}`;
  const { status } = await run.ask(at, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-hub-signature-256': `sha256=${signature}`,
      'x-github-delivery': randomUUID(),
      'x-github-event': 'push',
      authorization: `Bearer ${CARRIED.authorization}`,
      cookie: `session=${CARRIED.cookie}`,
      'x-unknown': CARRIED.unknownHeader,
    },
  });
  return status;
}

/** `state reason` of the tenant's deliveries, by how many. */
async function states(): Promise<Record<string, number>> {
  const rows = await run.rig.db.rows<{ state: string; count: number }>(
    `select state, count(*)::integer as count from waybill.deliveries where tenant_id = $1
      group by 1`,
    [TENANT],
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

async function deliveries(): Promise<void> {
  for (const subscription of SUBSCRIPTIONS)
    expect(await webhook(ingressOf(subscription))).toBe(202);
  expect(await webhook(await subscribe(run, 'vault:kv/hooks#github'))).toBe(202);
  expect(await webhook(ingressOf('good'), 'another secret')).toBe(401);
  const settled = (acknowledged: number, failed: number) =>
    until('all of them are settled', async () => {
      const { Acknowledged = 0, Failed = 0 } = await states();
      return Acknowledged === acknowledged && Failed === failed ? true : null;
    });
  await settled(2, 3);
  const failed = await run.rig.db.rows<{ id: string }>(
    `select delivery_id as id from waybill.deliveries where state = 'Failed'`,
  );
  for (const { id } of failed) {
    const replay = {
      method: 'POST',
      body: JSON.stringify({ reason: 'again' }),
      headers: JSON_TYPE,
    };
    expect((await run.ask(`/factory/deliveries/${id}/replay`, replay)).status).toBe(202);
  }
  await until('the replays are settled', async () => {
    const [row] = await run.rig.db.rows<{ open: number }>(
      `select count(*)::integer as open from waybill.deliveries
        where state not in ('Acknowledged', 'Failed', 'Rejected') or (state = 'Failed' and series < 2)`,
    );
    return row?.open === 0 ? true : null;
  });
  run.vault.sealed = true;
  await run.rig.db.rows(`update waybill.ingresses set secrets =
    replace(secrets::text, 'hooks#github', 'none#github')::jsonb
    where ingress_ref like '%-unsigned-ingress'`);
  await until('the secret cannot be read', async () =>
    (await webhook(ingressOf('unsigned'))) === 503 ? true : null,
  );
  run.vault.sealed = false;
}

/** All that can be read, and calls of somebody with a wrong token. */
async function reading(): Promise<void> {
  const lists = ['/factory/deliveries'];
  const more = ['actions', 'routes', 'route-attempts', 'events', 'event-sinks', 'capabilities'];
  for (const at of [...lists, ...more.map((name) => `/v1/${name}`), '/v1/receipts/export']) {
    await run.ask(at);
  }
  const rows = await run.rig.db.rows<{ id: string }>(
    'select delivery_id::text as id from waybill.deliveries',
  );
  for (const { id } of rows) await run.ask(`/factory/deliveries/${id}`);
  for (const { id } of rows) await run.ask(`/v1/receipts/delivery/${id}`);
  const wrong = { authorization: `Bearer ${CARRIED.wrongBearer}` };
  expect((await run.ask('/v1/actions', { headers: wrong })).status).toBe(401);
  const query = `/v1/actions?cursor=${CARRIED.query}`;
  expect((await run.ask(query)).status).toBe(400);
}

it('finds what is planted, however it is written', () => {
  const secret = 'planted "secret" of 32 bytes/+?';
  const forms = [secret, JSON.stringify({ secret }), encodeURIComponent(`x=${secret}`)];
  const inBase64 = ['', 'a', 'ab'].map((before) =>
    Buffer.from(`${before}${secret}…`).toString('base64'),
  );
  for (const text of [...forms, ...inBase64, Buffer.from(secret).toString('hex')]) {
    expect(tracesOf(secret).some((form) => text.includes(form))).toBe(true);
  }
});

it('the run did what it should: all ways through were taken', async () => {
  expect(Object.keys(await states()).sort()).toEqual(['Acknowledged', 'Failed', 'Rejected']);
  expect(run.proxy.passed.length).toBeGreaterThan(0);
  expect(run.receiver.calls.length).toBeGreaterThan(10);
  // The receiver was sent credentials, so that it could send them back.
  const sent = JSON.stringify(run.receiver.calls.map(({ path, headers }) => ({ path, headers })));
  expect(sent).toContain(GIVEN.PLANTED_VENDOR);
  for (const { text } of logs) expect(text).toContain('"level"');
});

it('no table has a secret; an address that somebody published is with its target alone', async () => {
  const rows = await rowsOf(run.rig.db);
  expect(finds(rows, secrets)).toEqual([]);
  expect(finds(rows, IN_URLS)).toEqual([
    ...['table event_sinks: targetUrl', 'table targets: failingUrl', 'table targets: targetUrl'],
  ]);
});

it('no log has one', () => {
  expect(finds(logs, { ...secrets, ...IN_URLS })).toEqual([]);
});

it('no history has one', async () => {
  const { client, queuePrefix } = run.rig;
  const queues = ['deliveries', 'actions', 'operations'].map((name) => `${queuePrefix}${name}`);
  const histories = await historiesOf(client, queues, 8);
  expect(finds(histories, { ...secrets, ...IN_URLS })).toEqual([]);
});

it('no answer has one, and nobody is sent what is not theirs', () => {
  expect(finds(run.answers, { ...secrets, ...IN_URLS })).toEqual([]);
  const notTheirs = Object.fromEntries(
    Object.entries(secrets).filter(([name]) => name !== 'PLANTED_VENDOR'),
  );
  const calls = run.receiver.calls.map(({ path, headers, body }) => ({
    where: `call ${path.split('?')[0] ?? ''}`,
    text: `${path}\n${JSON.stringify(headers)}\n${body.toString('utf8')}`,
  }));
  expect(finds(calls, notTheirs)).toEqual([]);
});

it("the host's memory has none", () => {
  const [host] = run.rig.hosts;
  const text = readFileSync(host?.storeFile ?? '').toString('latin1');
  expect(finds([{ where: 'store', text }], secrets)).toEqual([]);
});

it('is over a Vault that was really asked', () => {
  expect(run.vault).toBeInstanceOf(VaultPeer);
  expect(run.vault.requests.length).toBeGreaterThan(1);
});
