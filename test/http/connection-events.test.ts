/**
 * Receiving what a system of connections tells of them. Real: server, socket, the CloudEvents library as
 * the sender, Postgres, publications.
 */
import { CloudEvent, HTTP } from 'cloudevents';
import { insertCatalog } from '../support/catalog-fixture';
import { readFleet } from '../../src/schemas/fleet';
import { publishFleet } from '../../src/services/publications';
import { Harness, problem, type Answer } from './harness';

const TYPE = 'integration.connections.v1.connection-state-changed';
const SCOPES = ['factory.connections.events'];

let h: Harness;
beforeEach(async () => {
  h = await Harness.start();
  await insertCatalog(h.db);
  await insertCatalog(h.db, { tenant: 'globex' });
});
afterEach(() => h.stop());

interface Told {
  readonly state?: string;
  readonly version?: number;
  readonly id?: string;
  readonly type?: string;
  readonly data?: object;
  readonly binary?: boolean;
  readonly scopes?: readonly string[];
}

async function tell({ id, type = TYPE, binary = false, scopes = SCOPES, ...said }: Told) {
  const { state = 'disabled', version = 1 } = said;
  const event = new CloudEvent({
    ...{ id: id ?? `event-${version}-${state}`, source: '/connections', type },
    data: { connectionId: 'main', state, version, ...said.data },
  });
  const { headers, body } = binary ? HTTP.binary(event) : HTTP.structured(event);
  return await send({ ...(headers as Record<string, string>) }, body as string, scopes);
}

async function send(
  headers: Record<string, string>,
  body: string,
  scopes: readonly string[] = SCOPES,
): Promise<Answer> {
  const response = await fetch(`${h.url}/v1/connection-events`, {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${await h.token({ scopes })}` },
    body,
  });
  const answered = (await response.json()) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, body: answered };
}

const status = async (tenant = 'acme') => {
  const [row] = await h.db.rows<{ instance: string; subscription: string; revision: number }>(
    `select i.status as instance, s.state as subscription, r.revision::integer
      from waybill.instances i join waybill.subscriptions s using (tenant_id, instance_id)
      cross join waybill.catalog_revision r where tenant_id = $1`,
    [tenant],
  );
  return row;
};

test.each([false, true])('is one publication, in either mode (binary: %s)', async (binary) => {
  const { revision = -1 } = (await status()) ?? {};
  expect((await tell({ binary })).body).toEqual({ outcome: 'applied' });
  expect(await status()).toEqual({
    ...{ instance: 'disabled', subscription: 'active', revision: revision + 1 },
  });
  expect((await tell({ binary, state: 'enabled', version: 2 })).body).toEqual({
    outcome: 'applied',
  });
  expect(await status()).toMatchObject({ instance: 'enabled', revision: revision + 2 });
  expect(await status('globex')).toMatchObject({ instance: 'enabled' });
});

test('is read however its sender spells the content type', async () => {
  const spellings = [
    ['application/cloudevents+json', false],
    ['application/cloudevents+json; charset=UTF-8', false],
    ['Application/CloudEvents+JSON;charset="utf-8"', false],
    ['application/json;charset=UTF-8', true],
  ] as const;
  const answers = [];
  for (const [index, [type, binary]] of spellings.entries()) {
    const about = { specversion: '1.0', id: `e${index}`, source: '/connections', type: TYPE };
    const state = index % 2 === 0 ? 'disabled' : 'enabled';
    const data = { connectionId: 'main', state, version: index + 1 };
    const ce = Object.entries(about).map(([name, value]) => [`ce-${name}`, value]);
    const attributes = Object.fromEntries(ce) as Record<string, string>;
    const headers = { 'content-type': type, ...(binary ? attributes : {}) };
    answers.push(await send(headers, JSON.stringify(binary ? data : { ...about, data })));
  }
  expect(answers.map(({ body }) => body['outcome'])).toEqual(spellings.map(() => 'applied'));
});

test('that comes again, or after a newer one, changes nothing', async () => {
  await tell({ version: 5 });
  const before = await status();
  expect((await tell({ version: 5 })).body).toEqual({ outcome: 'duplicate' });
  expect((await tell({ state: 'enabled', version: 5 })).body).toEqual({ outcome: 'older' });
  expect((await tell({ state: 'revoked', version: 4 })).body).toEqual({ outcome: 'older' });
  expect((await tell({ version: 6 })).body).toEqual({ outcome: 'unchanged' });
  expect((await tell({ state: 'enabled', version: 5, id: 'x' })).body).toEqual({
    outcome: 'older',
  });
  expect(await status()).toEqual(before);
});

test('in any order ends as the newest says', async () => {
  const versions = [3, 1, 5, 2, 4];
  await Promise.all(
    versions.map((version) => tell({ version, state: version % 2 === 1 ? 'disabled' : 'enabled' })),
  );
  expect(await status()).toMatchObject({ instance: 'disabled' });
});

test('of a revoked connection ends its subscriptions, and it stays so', async () => {
  expect((await tell({ state: 'revoked' })).body).toEqual({ outcome: 'applied' });
  expect(await status()).toMatchObject({ instance: 'revoked', subscription: 'deactivated' });
  expect((await h.post('acme-pushes-ingress', '{}')).status).toBe(410);
  const [event] = await h.db.rows<{ payload: object }>(
    `select payload from waybill.outbox_events where topic like '%subscription-changed'`,
  );
  expect(event?.payload).toMatchObject({ subscriptionId: 'pushes', active: false });
  const back = await tell({ state: 'enabled', version: 2 });
  expect(problem(back)).toMatchObject({ status: 409, code: 'connection_state_refused' });
  expect(await status()).toMatchObject({ instance: 'revoked' });
  expect((await tell({ state: 'revoked', version: 2 })).body).toEqual({ outcome: 'unchanged' });
});

test('leaves a fleet file without a status as good as it was', async () => {
  const file = `kind: Instance
tenant: acme
id: main
connector: github
version: 1.0.0
grants: [source]
`;
  await tell({});
  const fleet = readFleet(file, new Map());
  const control = h.db.as('waybill_control');
  expect(await publishFleet(control, fleet, 'admin')).toMatchObject({ changed: false });
  const flips = readFleet(`${file}status: enabled\n`, new Map());
  await expect(publishFleet(control, flips, 'admin')).rejects.toMatchObject({
    code: 'revision_not_newer',
  });
});

test.each<[string, Told, string]>([
  ['of another type', { type: 'other' }, 'type'],
  ['of another tenant', { data: { tenantId: 'globex' } }, 'data.tenantId'],
  ['with an unknown state', { state: 'paused' }, 'body'],
  ['without a version', { data: { version: undefined } }, 'body'],
])('%s is refused', async (_what, told, field) => {
  expect(problem(await tell(told))).toMatchObject({ status: 400, field });
});

test('that is no CloudEvent, or many, is refused', async () => {
  const data = JSON.stringify({ connectionId: 'main', state: 'disabled', version: 1 });
  const json = { 'content-type': 'application/json' };
  expect(problem(await send(json, data))).toMatchObject({ status: 400, field: 'body' });
  const old = { ...json, 'ce-specversion': '0.3', 'ce-id': 'e', 'ce-source': '/', 'ce-type': TYPE };
  expect(problem(await send(old, data))).toMatchObject({ status: 400, field: 'specversion' });
  for (const id of ['a\0b', '\ud800', 'a\nb']) {
    expect(problem(await tell({ id }))).toMatchObject({ status: 400, field: 'id' });
  }
  const batch = { 'content-type': 'application/cloudevents-batch+json' };
  expect(problem(await send(batch, '[]'))).toMatchObject({ code: 'invalid_request' });
});

test('needs its scope, and a connection that is there', async () => {
  const other = await tell({ scopes: ['factory.connections.admin'] });
  expect(problem(other)).toMatchObject({ code: 'scope_missing' });
  expect(problem(await tell({ data: { connectionId: 'nobody' } }))).toMatchObject({
    code: 'not_found',
  });
});
