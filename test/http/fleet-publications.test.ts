/**
 * Publishing fleets through the API. Real: server, socket, Postgres, publications, the shipped schemes.
 * Secrets are those of the test's environment.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { FleetDifference, PublishedFleet } from '../../src/schemas/api-fleet-publications';
import { Harness, problem, type Answer } from './harness';

const PUBLISH = ['factory.fleet.publish'];
const EXAMPLE = readFileSync(path.join(__dirname, '../../examples/fleet.yaml'), 'utf8');

let h: Harness;
beforeAll(async () => {
  h = await Harness.start();
});
afterAll(() => h.stop());

async function ask<Body>(
  what: 'diff' | 'apply',
  body: string | Uint8Array,
  more: { type?: string; scopes?: string[]; claims?: Record<string, unknown> } = {},
): Promise<Answer<Body>> {
  const { scopes = PUBLISH, claims = {} } = more;
  const token = await h.token({ tenant: 'platform', subject: 'ops', scopes, claims });
  const response = await fetch(`${h.url}/v1/fleet/${what}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': more.type ?? 'application/yaml' },
    body: Buffer.from(body),
  });
  const said = (await response.json()) as Body;
  return { status: response.status, headers: response.headers, body: said };
}
const apply = (body: string, more = {}) => ask<PublishedFleet>('apply', body, more);
const refused = async (body: string | Uint8Array, more = {}) =>
  problem(await ask<Record<string, unknown>>('apply', body, more));
const revision = async () =>
  Number(
    (await h.db.rows<{ revision: string }>('select revision from waybill.catalog_revision'))[0]
      ?.revision,
  );

test('a fleet is shown, published as one revision, and the same again is nothing', async () => {
  const before = await revision();
  const shown = await ask<FleetDifference>('diff', EXAMPLE);
  expect(shown).toMatchObject({ status: 200, body: { revision: before, differs: true } });
  expect(shown.body.changeCount).toBe(shown.body.changes.length);
  expect(await revision()).toBe(before);
  const published = await apply(EXAMPLE);
  expect(published).toMatchObject({
    status: 200,
    body: { revision: before + 1, changed: true, changes: shown.body.changes },
  });
  expect(await apply(EXAMPLE)).toMatchObject({
    status: 200,
    body: { revision: before + 1, changed: false, changeCount: 0, changes: [] },
  });
  const after = await ask<FleetDifference>('diff', EXAMPLE);
  expect(after.body).toMatchObject({ revision: before + 1, differs: false });
  expect(
    await h.db.rows(`select actor, subject from waybill.audit_log where action = 'publish'`),
  ).toEqual([{ actor: 'ops', subject: `catalog/${before + 1}` }]);
});

test('JSON is one document, or a list of them', async () => {
  const target = { kind: 'Target', tenant: 'acme', http: { url: 'https://ci.example.test/' } };
  const type = 'application/json';
  const one = await apply(JSON.stringify({ ...target, id: 'one' }), { type });
  expect(one.body).toMatchObject({ changed: true, changeCount: 1 });
  const list = [
    { ...target, id: 'one' },
    { ...target, id: 'two' },
  ];
  const two = await apply(JSON.stringify(list), { type });
  expect(two.body.changes).toMatchObject([{ kind: 'Target', tenant: 'acme', id: 'two' }]);
});

describe('nothing is applied', () => {
  test('of a fleet with mistakes, and each is told with line, document and field', async () => {
    const before = await revision();
    const good = 'kind: Target\ntenant: acme\nid: good\nhttp:\n  url: https://a.example.test/\n';
    const bad = 'kind: Target\ntenant: acme\nid: bad\nhttp:\n  url: nowhere\n  colour: red\n';
    const said = await refused(`${good}---\n${bad}`);
    expect(said).toMatchObject({ status: 422, code: 'fleet_invalid', mistakeCount: 2 });
    expect(said.mistakes).toMatchObject([
      { line: 11, field: 'http.url', document: 'Target acme/bad (document 2)' },
      { line: 12, field: 'http.colour' },
    ]);
    const json = JSON.stringify([{ kind: 'Nothing' }, { kind: 'Neither' }], null, 1);
    expect((await refused(json, { type: 'application/json' })).mistakes).toMatchObject([
      { line: 3, field: 'kind', document: 'document 1' },
      { line: 6, field: 'kind', document: 'document 2' },
    ]);
    expect(await revision()).toBe(before);
  });

  test('and of very many mistakes the first hundred are told', async () => {
    const said = await refused('kind: Nothing\n---\n'.repeat(150));
    expect([said.mistakeCount, said.mistakes?.length]).toEqual([150, 100]);
  });

  test('where what is published may not become that', async () => {
    const version = EXAMPLE.split(/^---$/m).find((part) => /^kind: Connector$/m.test(part)) ?? '';
    const changed = version.replace(/^webhookScheme: .*$/m, 'webhookScheme: gitlab');
    expect(changed).not.toBe(version);
    const said = await refused(changed);
    expect(said).toMatchObject({ status: 409, code: 'version_immutable' });
    expect(said.mistakes?.[0]).toMatchObject({ code: 'version_immutable' });
  });

  test('where a secret is empty that this process reads', async () => {
    h.env['TEST_EMPTY'] = '';
    const sent =
      'kind: Target\ntenant: acme\nid: signed\n' +
      'http:\n  url: https://a.example.test/\n  secretRefs: ["env:TEST_EMPTY"]\n';
    expect((await refused(sent)).mistakes).toMatchObject([
      { field: 'http.secretRefs[0]', line: 6, problem: expect.stringContaining('empty') as string },
    ]);
  });

  test.each([
    ['no YAML', 'a: [', 'fleet_unreadable', 400],
    ['no UTF-8', Uint8Array.of(0xff, 0xfe, 0xfd), 'fleet_unreadable', 400],
    ['lists in lists', '- '.repeat(50_000), 'fleet_unreadable', 400],
    ['brackets in brackets', '['.repeat(50_000), 'fleet_unreadable', 400],
    ['maps in maps', '{"a":'.repeat(3_000), 'fleet_unreadable', 400],
    ['nothing', '', 'invalid_request', 400],
    ['more than a MiB', '#'.repeat(1_048_577), 'body_too_large', 413],
  ])('of %s', async (_what, body, code, status) => {
    expect(await refused(body)).toMatchObject({ status, code });
  });

  test('without the scope, or by a token that is narrowed', async () => {
    const scopes = ['factory.connections.admin', 'factory.fleet.read'];
    expect(await refused(EXAMPLE, { scopes })).toMatchObject({ code: 'scope_missing' });
    for (const claims of [{ capabilities: ['*'] }, { max_side_effect: 'external' }]) {
      const said = await refused(EXAMPLE, { claims });
      expect(said).toMatchObject({ status: 403, code: 'capability_not_permitted' });
    }
  });
});
