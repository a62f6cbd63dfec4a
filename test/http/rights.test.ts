/**
 * Who may call what: each route of the committed OpenAPI document with each role, with its scope alone, and
 * with every scope but that one, and with each side-effect ceiling. Real: server, socket, tokens, Postgres.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Harness, problem } from './harness';

interface Operation {
  readonly security?: readonly { readonly bearer: readonly string[] }[];
  readonly 'x-side-effects': string;
}
type Document = Readonly<Record<string, Readonly<Record<string, Operation>>>>;
const { paths } = JSON.parse(readFileSync(join(__dirname, '../../docs/openapi.json'), 'utf8')) as {
  paths: Document;
};

const routes = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { security, 'x-side-effects': sideEffects }]) =>
    (security ?? []).map(({ bearer: [scope = ''] }) => ({ method, path, scope, sideEffects })),
  ),
);

const READS = [
  ...['factory.connections.read', 'factory.actions.read', 'factory.catalog.read'],
  ...['factory.events.read', 'factory.replays.read', 'factory.fleet.read'],
  'factory.receipts.read',
];
const OPERATES = [
  ...['factory.connections.operate', 'factory.actions.operate', 'factory.replays.operate'],
  'factory.actions.approve',
];
const ADMINS = ['factory.connections.admin', 'factory.actions.run', 'factory.deliveries.send'];
const OTHERS = [
  ...['factory.connections.events', 'factory.catalog.internal', 'factory.fleet.publish'],
];
const ALL = [...READS, ...OPERATES, ...ADMINS, ...OTHERS];

/** As docs/security, "Who may do what", says it. */
const ROLES: Readonly<Record<string, readonly string[]>> = {
  Observer: READS,
  Operator: [...READS, ...OPERATES],
  WorkspaceAdmin: [...READS, ...OPERATES, ...ADMINS],
  PlatformAdmin: ALL,
  Stranger: [],
};

let h: Harness;
beforeAll(async () => {
  h = await Harness.start();
});
afterAll(() => h.stop());

/** What stands behind the address is nobody's: whoever may call is told so. */
const called = async (
  { method, path }: (typeof routes)[number],
  held: { readonly scopes: readonly string[]; readonly claims?: Readonly<Record<string, unknown>> },
): Promise<'may' | 'may not'> => {
  const json = method === 'get' ? {} : { 'content-type': 'application/json' };
  const response = await fetch(h.url + path.replaceAll(/\{\w+\}/g, 'nobody'), {
    method: method.toUpperCase(),
    headers: { authorization: `Bearer ${await h.token({ ...held })}`, ...json },
    ...(method === 'get' ? {} : { body: '{}' }),
  });
  const text = await response.text();
  const { status, headers } = response;
  if (status < 400) return 'may';
  const { code } = problem({ status, headers, body: JSON.parse(text) as Record<string, unknown> });
  expect([status < 500, code === 'unauthenticated']).toEqual([true, false]);
  return code === 'scope_missing' || code === 'capability_not_permitted' ? 'may not' : 'may';
};

test('the scopes are these, and each opens a route but the one that opens part of one', () => {
  const needed = [...new Set(routes.map(({ scope }) => scope))];
  expect([...needed, 'factory.catalog.internal'].sort()).toEqual([...ALL].sort());
});

test.each(Object.entries(ROLES))(
  '%s calls what its scopes open, and nothing else',
  async (role, scopes) => {
    const told = await Promise.all(
      routes.map(async (route) => [
        `${route.method} ${route.path}`,
        await called(route, { scopes: [], claims: { roles: [role] } }),
      ]),
    );
    expect(told).toEqual(
      routes.map(({ method, path, scope }) => [
        `${method} ${path}`,
        scopes.includes(scope) ? 'may' : 'may not',
      ]),
    );
  },
);

/** Their effect is that of a capability, by whose class the token is judged. */
const OF_CAPABILITY = [
  ...['put /v1/actions/{actionId}', 'post /v1/actions/{actionId}/cancel', 'post /v1/deliver'],
  ...['approve', 'deny', 'resolve', 'repin'].map((verb) => `post /v1/actions/{actionId}/${verb}`),
];
const CLASSES = ['read', 'sandbox', 'shared-write', 'external'];

test.each(CLASSES)('a token with the ceiling %s calls no route of a higher class', async (most) => {
  const told = await Promise.all(
    routes.map(async (route) => [
      `${route.method} ${route.path}`,
      await called(route, { scopes: [route.scope], claims: { max_side_effect: most } }),
    ]),
  );
  const publishes = (path: string) => path.startsWith('/v1/fleet/') && !path.endsWith('/status');
  expect(told).toEqual(
    routes.map(({ method, path, sideEffects }) => {
      const name = `${method} ${path}`;
      const below = CLASSES.indexOf(sideEffects) <= CLASSES.indexOf(most);
      // Nothing that is narrowed publishes.
      const may = OF_CAPABILITY.includes(name) || (below && !publishes(path));
      return [name, may ? 'may' : 'may not'];
    }),
  );
});

test('each route is opened by its scope alone, and by no other one', async () => {
  const told = await Promise.all(
    routes.map(async (route) => [
      `${route.method} ${route.path}`,
      await called(route, { scopes: [route.scope] }),
      await called(route, { scopes: ALL.filter((scope) => scope !== route.scope) }),
    ]),
  );
  expect(told).toEqual(routes.map(({ method, path }) => [`${method} ${path}`, 'may', 'may not']));
});
