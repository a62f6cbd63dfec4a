/**
 * `waybill diff`, `waybill fleet export`, and two `waybill apply` at once, one of which stands still or
 * is killed. Real: the processes and Postgres. Asserted: what they print, their exit codes, and what is
 * published.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { publishFleet } from '../../src/services/publications';
import { readFleet } from '../../src/schemas/fleet';
import {
  account,
  binding,
  capability,
  connector,
  fleetOf,
  replica,
  target,
  tracker,
} from '../support/fleet-texts';
import { WaybillProcess } from '../support/processes';
import { comesUp, reserve } from '../support/reserving';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from '../support/until';
import { EXAMPLE_FLEET, failureOf, newHome, removeHomes, waybill } from './waybill';

let db: TestDatabase;
beforeEach(async () => {
  db = await createTestDatabase();
});
afterEach(() => db.drop());
afterAll(removeHomes);

const env = () => ({ DATABASE_URL: db.url, WAYBILL_HOME: newHome() });
const run = (...args: readonly string[]) => waybill(args, env());
const publish = (text: string) =>
  publishFleet(db.as('waybill_control'), readFleet(text, new Map()), 'admin');

function fileOf(text: string): string {
  const file = path.join(newHome(), 'fleet.yaml');
  writeFileSync(file, text);
  return file;
}

async function revision(): Promise<number> {
  const rows = await db.rows<{ revision: string }>('select revision from waybill.catalog_revision');
  return Number(rows[0]?.revision);
}

describe('diff', () => {
  test('shows what apply then publishes, with 1, and 0 once it is there', async () => {
    const before = await run('diff', '-f', EXAMPLE_FLEET, '--json');
    expect(before.code).toBe(1);
    const { changes, ...head } = JSON.parse(before.stdout) as { changes: unknown };
    expect(head).toEqual({ revision: 0, differs: true });
    expect(await revision()).toBe(0);
    const applied = await run('apply', '-f', EXAMPLE_FLEET, '--json');
    expect(JSON.parse(applied.stdout)).toEqual({ revision: 1, changed: true, changes });
    const after = await run('diff', '-f', EXAMPLE_FLEET);
    expect(after).toMatchObject({ code: 0, stderr: '' });
    expect(after.stdout).toBe('nothing differs: revision 1 has all of it\n');
  });

  test('shows each field for people, as apply does', async () => {
    await publish(target());
    const file = fileOf(target('http: { url: http://ci.test/b }'));
    const shown = await run('diff', '-f', file);
    expect(shown.code).toBe(1);
    const line =
      /update +Target acme\/ci +http\.url +http:\/\/ci\.test\/ -> http:\/\/ci\.test\/b\n/;
    expect(shown.stdout).toMatch(line);
    expect(shown.stdout).toContain('\nnothing was published: revision 1 differs from the file\n');
    expect((await run('apply', '-f', file)).stdout).toMatch(line);
  });

  test('of a file with mistakes lists them, and is no difference: 2', async () => {
    const wrong = await run('diff', '-f', fileOf(target('http: { url: nowhere }')));
    expect(wrong.code).toBe(2);
    expect(wrong.stdout).toMatch(/^line 4, Target acme\/ci \(document 1\): http\.url: /);
    expect(failureOf(wrong).code).toBe('fleet_invalid');
    expect((await run('diff', '-f', 'no-such-file')).code).toBe(2);
  });
});

describe('a fleet file', () => {
  test('is read from standard input as well', async () => {
    const applied = await waybill(['apply', '-f', '-', '--json'], env(), target());
    expect(JSON.parse(applied.stdout)).toMatchObject({ revision: 1, changed: true });
    const exported = await run('fleet', 'export');
    const differs = await waybill(['diff', '-f', '-'], env(), exported.stdout);
    expect(differs).toMatchObject({ code: 0, stderr: '' });
  });

  test('that is not UTF-8 is refused, not read as something else', async () => {
    const file = path.join(newHome(), 'fleet.yaml');
    for (const encoding of ['latin1', 'utf16le'] as const) {
      writeFileSync(file, Buffer.from(connector('name: Caf\u00e9'), encoding));
      const refused = await run('apply', '-f', file);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(failureOf(refused)).toEqual({
        ...{ code: 'fleet_unreadable', message: 'the fleet file is not UTF-8; save it as such' },
      });
    }
  });
});

test('fleet export is a fleet file that apply finds published already, whole or of one tenant', async () => {
  await run('apply', '-f', EXAMPLE_FLEET);
  for (const tenant of [[], ['--tenant', 'acme']]) {
    const exported = await run('fleet', 'export', ...tenant);
    expect(exported).toMatchObject({ code: 0, stderr: '' });
    expect(exported.stdout).toContain('id: tickets-acme-1\n');
    expect(exported.stdout.includes('kind: Settings')).toBe(tenant.length === 0);
    const again = await run('apply', '-f', fileOf(exported.stdout));
    expect(again.stdout).toBe('nothing to do: revision 1 has all of it\n');
  }
  const wrong = await run('fleet', 'export', '--tenant', 'No Tenant');
  expect(wrong.code).toBe(2);
});

test('two processes that publish at once are two revisions, none of them mixed', async () => {
  const fleet = (word: string) =>
    fileOf(
      fleetOf(...['a', 'b'].map((id) => target(`id: ${id}`, `http: { url: http://${word}/ }`))),
    );
  const both = await Promise.all([
    run('apply', '-f', fleet('one'), '--json'),
    run('apply', '-f', fleet('other'), '--json'),
  ]);
  const told = both.map(({ stdout }) => (JSON.parse(stdout) as { revision: number }).revision);
  expect([...told].sort()).toEqual([1, 2]);
  const urls = await db.rows(`select distinct config->>'url' as url from waybill.targets`);
  expect(urls).toEqual([{ url: told[0] === 2 ? 'http://one/' : 'http://other/' }]);
});

describe('a publisher that stands still before its last step', () => {
  let held: WaybillProcess;
  beforeEach(async () => {
    await publish(fleetOf(capability(), tracker(), account(), binding(), replica()));
    await comesUp(db, 'host-1');
    const changed = fleetOf(
      binding('priority: 7', 'policyRevision: 2'),
      replica('capacity: 50'),
      target(),
    );
    held = new WaybillProcess(['apply', '-f', fileOf(changed)], {
      ...{ ...env(), WAYBILL_HOLD_AT: 'publication.written' },
    });
    await held.heldAt('publication.written');
  });
  afterEach(() => held.kill());

  test('stalls neither routing nor hosts, and is published when it goes on', async () => {
    for (let nth = 1; nth <= 5; nth += 1) {
      const began = performance.now();
      expect(await reserve(db, `early-${nth}`)).toMatchObject({
        ...{ kind: 'reserved', route: { catalogRevision: 1, bindingPolicyRevision: 1 } },
      });
      expect(performance.now() - began).toBeLessThan(1_000);
    }
    held.signal('SIGUSR2');
    await until('it is published', async () => ((await revision()) === 2 ? true : null));
    expect(await reserve(db, 'later')).toMatchObject({
      ...{ kind: 'reserved', route: { catalogRevision: 2, bindingPolicyRevision: 2 } },
    });
  });

  test('keeps the next one waiting, which says so', async () => {
    await expect(publish(target('id: next'))).rejects.toMatchObject({ code: 'publication_busy' });
    expect(await revision()).toBe(1);
  });

  test('leaves nothing when it is killed, and the next one publishes', async () => {
    await held.kill();
    expect(await publish(target('id: next'))).toMatchObject({ revision: 2, changed: true });
    const rows = await db.rows(
      `select (select priority from waybill.bindings) as priority,
          (select string_agg(target_id, ' ') from waybill.targets) as targets`,
    );
    expect(rows).toEqual([{ priority: 100, targets: 'next' }]);
  });
});
