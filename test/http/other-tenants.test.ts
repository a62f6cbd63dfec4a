/**
 * What is another tenant's, by every route of the committed OpenAPI document that names it by an id: whoever
 * knows the id learns and changes as little as with one that never was. Real: server, socket, tokens, Postgres.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SCOPES } from '../../src/http/scopes';
import { insertCatalog } from '../support/catalog-fixture';
import { fillApproval, fillRouting } from '../support/routing-rows';
import { Harness, problem, type Answer } from './harness';

const NEVER = '01890000-0000-7000-8000-000000000000';
const UNKNOWN: Readonly<Record<string, string>> = {
  ...{ deliveryId: NEVER, jobId: NEVER, actionId: 'never', id: 'never', about: 'action' },
  ...{ subscriptionId: 'never', targetId: 'never' },
};
/** Names of the platform, not of a tenant; and what proves by itself who it is. */
const OTHERS = ['capabilityId', 'connectorId', 'version', 'replicaId', 'ingressRef'];

interface Operation {
  readonly requestBody?: unknown;
}
type Document = Readonly<Record<string, Readonly<Record<string, Operation>>>>;
const { paths } = JSON.parse(readFileSync(join(__dirname, '../../docs/openapi.json'), 'utf8')) as {
  paths: Document;
};

const named = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
const routes = Object.entries(paths)
  .filter(([path]) => named(path).length > 0 && !named(path).some((name) => OTHERS.includes(name)))
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  // Starting an action of that id starts one of one's own.
  .filter(({ path, method }) => `${method} ${path}` !== 'put /v1/actions/{actionId}');

/** A body that is good wherever one is asked for. */
function bodyOf(path: string): object {
  if (/\/subscriptions\/\{\w+\}$/.test(path)) return { drainPerSecond: 5 };
  if (/\/replays\/|\/rotate$/.test(path)) return {};
  if (path.endsWith('/resolve')) return { outcome: 'failed', reason: 'looked' };
  return { reason: 'looked' };
}

let h: Harness;
let known: Record<string, string>;
let keys = 0;
beforeAll(async () => {
  h = await Harness.start();
  const pushes = await insertCatalog(h.db);
  await fillRouting(h.db, 'acme');
  await fillApproval(h.db, 'acme');
  await h.post(pushes.ingressRef, '{"n":1}');
  const [stored] = await h.stored();
  await h.fail('acme', stored?.delivery_id ?? '');
  const job = await h.call('/v1/replays', {
    json: { reason: 'repaired' },
    scopes: ['factory.replays.operate'],
  });
  known = {
    ...{ deliveryId: stored?.delivery_id ?? '', jobId: String(job.body['jobId']) },
    ...{ actionId: 'held', id: 'over', about: 'action' },
    ...{ subscriptionId: 'pushes', targetId: 'pushes-target' },
  };
});
afterAll(() => h.stop());

async function asked(
  { path, method, operation }: (typeof routes)[number],
  tenant: string,
  ids: Readonly<Record<string, string>>,
): Promise<Answer> {
  const hasBody = operation.requestBody !== undefined;
  const response = await fetch(
    h.url + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? ''),
    {
      method: method.toUpperCase(),
      headers: {
        authorization: `Bearer ${await h.token({ tenant, subject: 'eve', scopes: Object.keys(SCOPES) })}`,
        'idempotency-key': `k-${(keys += 1)}`,
        ...(hasBody ? { 'content-type': 'application/json' } : {}),
      },
      ...(hasBody ? { body: JSON.stringify(bodyOf(path)) } : {}),
    },
  );
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, body };
}

/** Without what differs with each request. */
const told = (answer: Answer) => ({ ...problem(answer), requestId: '' });

const rows = async () =>
  await h.db.rows(
    `select (select count(*) from waybill.audit_log) as audited,
      (select count(*) from waybill.outbox_events) as told,
      (select json_agg(d order by delivery_id) from waybill.deliveries d) as deliveries,
      (select json_agg(a order by action_id) from waybill.actions a) as actions,
      (select json_agg(s order by subscription_id) from waybill.subscriptions s) as subscriptions,
      (select json_agg(t order by target_id) from waybill.targets t) as targets,
      (select json_agg(j order by job_id) from waybill.replay_jobs j) as jobs`,
  );

test('is answered like what never was, and nothing happens to it', async () => {
  const before = await rows();
  for (const route of routes) {
    const theirs = told(await asked(route, 'rival', known));
    expect({ ...route, theirs }).toEqual({
      ...route,
      theirs: told(await asked(route, 'rival', UNKNOWN)),
    });
    expect(theirs).toMatchObject({ status: 404, code: 'not_found' });
  }
  expect(await rows()).toEqual(before);
  expect(routes.length).toBeGreaterThan(20);
});

test.each(routes.map((route) => [route.method, route.path, route] as const))(
  'is there for its own tenant: %s %s',
  async (_method, _path, route) => {
    expect((await asked(route, 'acme', known)).status).not.toBe(404);
  },
);
