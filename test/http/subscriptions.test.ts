/**
 * Subscriptions that their tenant makes, changes and ends. Real: server, socket, Postgres, publications,
 * row security. Secrets are those of the test's environment.
 */
import type { SubscriptionPage } from '../../src/schemas/api-subscriptions';
import { insertCatalog } from '../support/catalog-fixture';
import { Harness, problem } from './harness';
import { refused, SubscriptionCalls, wish } from './subscription-calls';

let h: Harness;
let calls: SubscriptionCalls;
beforeAll(async () => {
  h = await Harness.start();
  calls = new SubscriptionCalls(h);
  await insertCatalog(h.db, { subscription: 'given' });
  await insertCatalog(h.db, { tenant: 'globex', subscription: 'theirs' });
  await h.db.rows(
    `insert into waybill.instances (tenant_id, instance_id, connector_id, version, status, grants)
      values ('globex', 'theirs-instance', 'github', '1.0.0', 'enabled', '{source}')`,
  );
});
afterAll(() => h.stop());

const ask: SubscriptionCalls['ask'] = (...asked) => calls.ask(...asked);
const revision = () => calls.revision();
const events = (id: string) => calls.events(id);

describe('creating a subscription', () => {
  test('publishes it, tells of it, and answers what to enter at the vendor', async () => {
    const made = await ask('', wish('made'));
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      ...{ subscriptionId: 'made', connectorId: 'github', state: 'active', active: true },
      ...{ eventTypes: ['push'], targetId: 'given-target', retry: null, drainPerSecond: null },
    });
    const { ref, url } = made.body.ingress ?? { ref: '', url: '' };
    expect(ref).toMatch(/^[0-9a-f]{32}$/);
    expect(url).toBe(`https://hooks.example.test/webhooks/${ref}`);
    expect(made.body.ingress).toMatchObject({
      ...{ scheme: 'hmac', signatureField: 'X-Hub-Signature-256', previous: [] },
      secrets: [{ id: 's1', ref: 'env:TEST_INGRESS_SECRET' }],
    });
    expect(await events('made')).toEqual([true]);
    expect((await h.post(ref, '{}')).status).toBe(202);
    expect((await ask('/made')).body).toMatchObject({ ingress: { ref } });
  });

  test('twice under one key is one, and again under another key is the same one', async () => {
    const first = await ask('', wish('once'), { key: 'once' });
    const before = await revision();
    const again = await ask('', wish('once'), { key: 'once' });
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(await ask('', wish('once'))).toMatchObject({ status: 200, body: first.body });
    expect(await refused(ask('', wish('once', { eventTypes: ['issues'] })))).toMatchObject({
      ...{ status: 409, code: 'subscription_exists', field: 'subscriptionId' },
    });
    expect(await revision()).toEqual(before);
  });

  test('needs its scope, a key, and a body that says all of it', async () => {
    const path = '/factory/subscriptions';
    const json = wish('unmade');
    const keyless = await h.call(path, { json, scopes: ['factory.connections.admin'] });
    expect(problem(keyless)).toMatchObject({ status: 400, field: 'idempotency-key' });
    expect(problem(await h.call(path, { json }))).toMatchObject({ code: 'scope_missing' });
    expect(await refused(ask('', { ...json, tenant: 'globex' }))).toMatchObject({
      ...{ status: 400, field: 'tenant' },
    });
  });

  test.each([
    ['an instance of nobody', { instanceId: 'nobody' }, 'instanceId'],
    ['an instance of another tenant', { instanceId: 'theirs-instance' }, 'instanceId'],
    ['a target of another tenant', { targetId: 'theirs-target' }, 'targetId'],
    ['every type and one more', { eventTypes: ['*', 'push'] }, 'eventTypes'],
    ['a secret that is not its own', secretOf('env:DATABASE_URL'), 'ingress.secrets[0].ref'],
    ['a secret up the path', secretOf('file:acme/../globex/key'), 'ingress.secrets[0].ref'],
  ])('is refused with %s', async (_what, more, field) => {
    const before = await revision();
    expect(await refused(ask('', wish('unmade', more)))).toMatchObject({
      ...{ status: 422, code: 'subscription_invalid', field },
    });
    expect(await revision()).toEqual(before);
  });

  test('is refused with a secret that is empty or no key, where it can be read here', async () => {
    await h.db.rows(
      `update waybill.connector_versions set webhook_scheme = jsonb_set(webhook_scheme,
        '{key_encoding}', '"hex"')`,
    );
    h.env['TEST_EMPTY'] = '';
    h.env['TEST_TEXT'] = 'planted, and no hex';
    const secrets = ['env:TEST_AWAY', 'env:TEST_EMPTY'].map((ref, n) => ({ id: `s${n}`, ref }));
    const empty = await refused(ask('', wish('unmade', { ingress: { secrets } })));
    expect(empty).toMatchObject({
      ...{ status: 422, code: 'subscription_invalid', field: 'ingress.secrets[1].ref' },
      detail: 'env:TEST_EMPTY, as it is read here: the secret is empty',
    });
    const text = await refused(ask('', wish('unmade', secretOf('env:TEST_TEXT'))));
    expect(text.detail).toMatch(/^env:TEST_TEXT, as .* the encoding is hex$/);
    expect(text.detail).not.toContain('planted');
    expect((await ask('', wish('away', secretOf('env:TEST_AWAY')))).status).toBe(201);
    const change = secretOf('env:TEST_EMPTY');
    const changed = await refused(ask('/away', change, { method: 'PATCH' }));
    expect(changed).toMatchObject({ field: 'ingress.secrets[0].ref' });
    // Of somebody else's nothing is told, not even whether it is empty.
    h.env['THEIR_EMPTY'] = '';
    const theirs = await refused(ask('', wish('unmade', secretOf('env:THEIR_EMPTY'))));
    expect(theirs.detail).toContain('must be a secret of the tenant');
    await h.db.rows(
      `update waybill.connector_versions set webhook_scheme = webhook_scheme - 'key_encoding'`,
    );
  });

  test.each([
    ['instances', `status = 'disabled'`, `status = 'enabled'`],
    ['instances', `grants = '{}'`, `grants = '{tool}'`],
    ['connector_versions', `status = 'deprecated'`, `status = 'active'`],
    ['connector_versions', `status = 'draft'`, `status = 'active'`],
  ])('needs %s that are not so: %s', async (table, bad, good) => {
    await h.db.rows(`update waybill.${table} set ${bad}`);
    const answer = await refused(ask('', wish('unmade')));
    await h.db.rows(`update waybill.${table} set ${good}`);
    expect(answer).toMatchObject({ code: 'subscription_invalid', field: 'instanceId' });
  });
});

function secretOf(ref: string): object {
  return { ingress: { secrets: [{ id: 's1', ref }] } };
}

describe('changing a subscription', () => {
  test('changes what is named, keeps the rest, and tells of it', async () => {
    const { body: made } = await ask('', wish('changed', { drainPerSecond: 5 }));
    const retry = { attempts: 2, backoff: ['1s'] };
    const change = { eventTypes: ['issues', 'push'], retry, lane: 'express' };
    const { status, body } = await ask('/changed', change, { method: 'PATCH' });
    expect(status).toBe(200);
    expect(body).toEqual({
      ...made,
      ...{ eventTypes: ['issues', 'push'], lane: 'express' },
      retry: {
        ...{ attempts: 2, backoff: { kind: 'list', delaysMs: [1000] }, jitter: 0.1 },
        ...{ totalSpanMs: null, retryAfterCapMs: 3_600_000 },
      },
    });
    const before = await revision();
    expect((await ask('/changed', change, { method: 'PATCH' })).body).toEqual(body);
    expect(await revision()).toEqual(before);
    const back = await ask('/changed', { retry: null, drainPerSecond: null }, { method: 'PATCH' });
    expect(back.body).toMatchObject({ retry: null, drainPerSecond: null, lane: 'express' });
    expect(await events('changed')).toEqual([true, true, true]);
  });

  test('leaves a pause as it is', async () => {
    await ask('', wish('paused'));
    await h.db.rows(
      `update waybill.subscriptions set state = 'paused', pause_reason = 'target_gone'
        where subscription_id = 'paused'`,
    );
    const { body } = await ask('/paused', { eventTypes: ['*'] }, { method: 'PATCH' });
    expect(body).toMatchObject({ state: 'paused', active: false, pauseReason: 'target_gone' });
  });

  test('keeps secrets that an admin wrote, and takes no others', async () => {
    await h.db.rows(
      `update waybill.ingresses set secrets = jsonb_set(secrets, '{0,ref}', '"env:THEIRS"')
        where subscription_id = 'changed'`,
    );
    const change = (ref: string) =>
      ask('/changed', { ingress: { secrets: [{ id: 's1', ref }] } }, { method: 'PATCH' });
    expect((await change('env:THEIRS')).status).toBe(200);
    expect(await refused(change('env:OTHERS'))).toMatchObject({ code: 'subscription_invalid' });
    expect((await change('env:TEST_NEXT')).body.ingress?.secrets).toMatchObject([
      { ref: 'env:TEST_NEXT' },
    ]);
  });

  test.each([
    ['PATCH', '/theirs', { eventTypes: ['*'] }],
    ['POST', '/theirs/deactivate', { reason: 'over' }],
    ['POST', '/theirs/ingress/rotate', {}],
    ['POST', '/nobody/deactivate', { reason: 'over' }],
  ])('%s %s of another tenant or nobody is not found', async (method, path, json) => {
    expect(await refused(ask(path, json, { method }))).toMatchObject({ code: 'not_found' });
  });

  test('two changes at once are both there', async () => {
    await ask('', wish('raced'));
    await Promise.all([
      ask('/raced', { eventTypes: ['issues'] }, { method: 'PATCH' }),
      ask('/raced', { drainPerSecond: 7 }, { method: 'PATCH' }),
    ]);
    expect((await ask('/raced')).body).toMatchObject({ eventTypes: ['issues'], drainPerSecond: 7 });
  });
});

test('a change, a pause and an end that are repeated with their key come about once', async () => {
  await ask('', wish('repeated'));
  const change = (eventTypes: string[], key: string) =>
    ask('/repeated', { eventTypes }, { method: 'PATCH', key });
  const first = await change(['issues'], 'change');
  await change(['ping'], 'another-change');
  const again = await change(['issues'], 'change');
  expect(again.body).toEqual(first.body);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect((await ask('/repeated')).body).toMatchObject({ eventTypes: ['ping'] });
  const operate = { scopes: ['factory.connections.operate'] };
  const switched = (verb: string, key: string) =>
    ask(`/repeated/${verb}`, { reason: 'because' }, { ...operate, key });
  const paused = await switched('pause', 'pause');
  await switched('resume', 'resume');
  expect(await switched('pause', 'pause')).toMatchObject({ status: 200, body: paused.body });
  expect((await ask('/repeated')).body).toMatchObject({ state: 'active' });
  const end = (reason: string) => ask('/repeated/deactivate', { reason }, { key: 'end' });
  expect((await end('over')).body).toMatchObject({ state: 'deactivated' });
  expect(await refused(end('other'))).toMatchObject({ code: 'idempotency_key_reused' });
});

test('a subscription is ended once, with its ingress, and why is kept', async () => {
  const { body: made } = await ask('', wish('ended'));
  for (let n = 0; n < 2; n += 1) {
    const ended = await ask('/ended/deactivate', { reason: 'moved to another vendor' });
    expect(ended.body).toMatchObject({ state: 'deactivated', active: false });
  }
  expect(await events('ended')).toEqual([true, false]);
  expect(await refused(ask('', wish('ended')))).toMatchObject({
    ...{ status: 409, code: 'subscription_exists', field: 'subscriptionId' },
    detail: 'It was deactivated; take another id.',
  });
  expect((await h.post(made.ingress?.ref ?? '', '{}')).status).toBe(410);
  const [audit] = await h.db.rows<{ actor: string; detail: { reason: string } }>(
    'select actor, detail from waybill.audit_log order by audit_id desc limit 1',
  );
  expect(audit).toMatchObject({
    ...{ actor: 'ada@example.test', detail: { reason: 'moved to another vendor' } },
  });
});

test('the list is the tenant’s own, by id, a page at a time', async () => {
  const list = async (query: string, tenant = 'acme') =>
    (await ask<SubscriptionPage>(query, undefined, { tenant })).body;
  const ids = (page: SubscriptionPage) => page.subscriptions.map((one) => one.subscriptionId);
  const all = ids(await list('?limit=200'));
  expect(all).toContain('given');
  expect(all).not.toContain('theirs');
  expect(all).toEqual([...all].sort());
  const first = await list('?limit=3');
  const second = await list(`?limit=3&cursor=${first.nextCursor ?? ''}`);
  expect([...ids(first), ...ids(second)]).toEqual(all.slice(0, 6));
  expect(ids(await list('', 'globex'))).toEqual(['theirs']);
  expect(await refused(ask('/theirs'))).toMatchObject({ status: 404 });
});
