/**
 * `waybill up` from end to end, in a home folder and on ports of its own. Real: everything that it
 * starts, Postgres and Temporal included. Asserted: the story comes out, data outlives a stop and a
 * kill, whatever cannot start says why in one line, and no process is ever left behind.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { DeliveryPage } from '../../src/schemas/api-deliveries';
import { processState } from '../../src/workers/embedded/process-identity';
import { stateFolder } from '../../src/workers/embedded/state-folder';
import { findTemporalCli } from '../../src/workers/embedded/temporal-binary';
import { readRunFile, type RunFile } from '../../src/workers/up/run-file';
import { createTestDatabase, required } from '../support/test-database';
import { until } from '../support/until';
import type { Finished } from './one-process';
import {
  failureOf,
  finished,
  lastFailureOf,
  newHome,
  removeHomes,
  startWaybill,
  waybill,
  type Environment,
} from './waybill';

const ANY_PORTS = {
  WAYBILL_PORT: '0',
  WAYBILL_HEALTH_PORT: '0',
  WAYBILL_GRPC_PORT: '0',
  WAYBILL_RECEIVER_PORT: '0',
  WAYBILL_PROVIDER_PORT: '0',
  WAYBILL_FIRST_HOST_PORT: '0',
  WAYBILL_SECOND_HOST_PORT: '0',
  WAYBILL_POSTGRES_PORT: '0',
  WAYBILL_TEMPORAL_PORT: '0',
  WAYBILL_TEMPORAL_UI_PORT: '0',
};

const Told = z.object({
  asExpected: z.boolean(),
  lines: z.array(
    z.object({
      what: z.string(),
      seen: z.string(),
      expected: z.boolean(),
      id: z.string().nullable(),
      url: z.string().nullable(),
    }),
  ),
  receipt: z.object({ verified: z.boolean(), payload: z.looseObject({ kind: z.string() }) }),
});

const home = newHome();
let env: Environment;
let firstDelivery: string | null = null;

beforeAll(async () => {
  const cli = await findTemporalCli({
    stateFolder: stateFolder(process.env, process.cwd()),
    env: process.env,
  });
  env = { ...ANY_PORTS, WAYBILL_HOME: home, WAYBILL_TEMPORAL_CLI: cli.path };
});
afterAll(removeHomes);

async function runFile(folder: string): Promise<RunFile> {
  return await until('run.json', () => Promise.resolve(readRunFile(folder)), 60_000);
}

/** Every process under an `up`: what it started, and the guards above those. */
function processesOf(folder: string): number[] {
  const records = path.join(folder, 'run');
  return readdirSync(records).flatMap((name) => {
    const { pid, guardPid } = z
      .object({ pid: z.int(), guardPid: z.int() })
      .parse(JSON.parse(readFileSync(path.join(records, name), 'utf8')));
    return [pid, guardPid];
  });
}

async function allGone(pids: readonly number[]): Promise<void> {
  await until('the end of every process', () =>
    Promise.resolve(pids.some((pid) => processState(pid).alive) ? null : true),
  );
}

function toldBy(ended: Finished): z.infer<typeof Told> {
  if (ended.stdout === '') throw new Error(`no story: ${lastFailureOf(ended).message}`);
  return Told.parse(JSON.parse(ended.stdout));
}

test('the story comes out, and nothing runs on', async () => {
  const ended = await waybill(['up', '--story', '--once', '--json'], env);
  const told = toldBy(ended);
  expect(told.lines.filter(({ expected }) => !expected)).toEqual([]);
  expect(told).toMatchObject({ asExpected: true, receipt: { verified: true } });
  expect(told.lines).toHaveLength(14);
  expect(told.lines[0]?.url).toMatch(/\/namespaces\/default\/workflows\/delivery%2Facme%2F/);
  expect(told.lines[9]?.seen).toMatch(/^6 accepted, 3 of them while it was away/);
  const [opened, survived, again, cancelled] = told.lines.slice(10);
  expect(opened?.seen).toMatch(
    /action completed on tickets-acme-[12]-\w{6}; Acknowledged; ticket /,
  );
  expect(survived?.seen).toMatch(/outcome_unknown.*completed on the same route.*the only one$/);
  expect(survived?.url).toMatch(/\/namespaces\/default\/workflows\/action%2Facme%2F/);
  expect(again).toMatchObject({ id: survived?.id, url: survived?.url });
  expect(cancelled?.seen).toContain('route settled cancelled; 1 place taken before, 0 after');
  expect(ended.code).toBe(0);
  firstDelivery = told.lines[0]?.id ?? null;
  expect(readdirSync(path.join(home, 'run'))).toEqual([]);
  expect(readRunFile(home)).toBeNull();
});

test('a later start has the data; a second one is refused; a kill leaves no process', async () => {
  const up = startWaybill(['up'], env);
  const end = finished(up);
  const { pid, addresses } = await runFile(home);
  const replicas = Object.keys(addresses.hosts);
  expect(replicas).toHaveLength(2);
  const list = ['deliveries', 'list', '--state', 'Acknowledged', '--json'];
  const { stdout } = await waybill(list, { WAYBILL_HOME: home });
  const { deliveries } = DeliveryPage.parse(JSON.parse(stdout));
  expect(deliveries.map(({ deliveryId }) => deliveryId)).toContain(firstDelivery);

  const second = failureOf(await waybill(['up'], env));
  expect(second.code).toBe('instance_running');
  expect(second.message).toContain('WAYBILL_HOME');
  const { port } = new URL(addresses.api);
  const taken = { ...env, WAYBILL_HOME: newHome(), WAYBILL_PORT: port };
  const clash = failureOf(await waybill(['up'], taken));
  expect(clash.code).toBe('port_in_use');
  expect(clash.message).toMatch(/^Port \d+ .*the API.*WAYBILL_PORT/);
  const host = new URL(addresses.hosts[replicas[1] ?? ''] ?? '').port;
  const hostTaken = { ...env, WAYBILL_HOME: newHome(), WAYBILL_SECOND_HOST_PORT: host };
  const hostClash = failureOf(await waybill(['up'], hostTaken));
  expect(hostClash.message).toMatch(/^Port \d+ .*the second demo host.*WAYBILL_SECOND_HOST_PORT/);

  const below = processesOf(home);
  // Eight, each with its guard.
  expect(below).toHaveLength(16);
  process.kill(pid, 'SIGKILL');
  await end;
  await allGone(below);
});

test('after a kill it starts again; when a process of it ends, all of it ends and says so', async () => {
  const up = startWaybill(['up'], env);
  const end = finished(up);
  const { pids } = await runFile(home);
  const below = processesOf(home);
  process.kill(pids['worker'] ?? 0, 'SIGKILL');
  const { message, code } = lastFailureOf(await end);
  expect(message).toMatch(/^worker ended unexpectedly.*worker\.log/);
  expect(code).toBe('process_lost');
  await allGone(below);
});

test('with servers that run already it starts none', async () => {
  const db = await createTestDatabase();
  const folder = newHome();
  const ended = await waybill(['up', '--story', '--once', '--json'], {
    ...ANY_PORTS,
    WAYBILL_HOME: folder,
    DATABASE_URL: db.url,
    TEMPORAL_ADDRESS: required('WAYBILL_TEST_TEMPORAL_ADDRESS'),
    WAYBILL_TASK_QUEUE_PREFIX: 'cli-up-',
  });
  await db.drop();
  const told = toldBy(ended);
  expect(told.lines.filter(({ expected }) => !expected)).toEqual([]);
  expect(told.lines[9]?.seen).toContain('not ours to kill');
  expect(ended.code).toBe(0);
  for (const name of ['postgres', 'temporal.db', 'bin']) {
    expect(existsSync(path.join(folder, name))).toBe(false);
  }
});

test('one that is asked to end while it starts stops what it has started', async () => {
  const db = await createTestDatabase();
  const folder = newHome();
  const up = startWaybill(['up'], { ...env, WAYBILL_HOME: folder, DATABASE_URL: db.url });
  const end = finished(up);
  const record = path.join(folder, 'run', 'temporal.json');
  await until('the Temporal server', () => Promise.resolve(existsSync(record) ? true : null));
  const below = processesOf(folder);
  up.kill('SIGTERM');
  expect(lastFailureOf(await end).code).toBe('interrupted');
  await allGone(below);
  await db.drop();
});

test('what cannot be had is named in one line', async () => {
  const db = await createTestDatabase();
  const given = { ...ANY_PORTS, DATABASE_URL: db.url };
  const noCli = { ...given, WAYBILL_HOME: newHome(), WAYBILL_TEMPORAL_CLI: '/nowhere/temporal' };
  const cli = lastFailureOf(await waybill(['up'], noCli));
  expect(cli.code).toBe('temporal_cli_unavailable');
  expect(cli.message).toContain('/nowhere/temporal');
  const noServer = { ...given, WAYBILL_HOME: newHome(), TEMPORAL_ADDRESS: '127.0.0.1:1' };
  const server = lastFailureOf(await waybill(['up'], noServer));
  expect(server.code).toBe('temporal_unreachable');
  expect(server.message).toContain('127.0.0.1:1');
  const fleet = failureOf(await waybill(['up', '--fleet', 'nowhere.yaml'], noServer));
  expect(fleet.code).toBe('fleet_unreadable');
  expect(fleet.message).toContain('nowhere.yaml');
  await db.drop();
});
