/**
 * Connector hosts as processes: they register, renew, vanish, come back, leave. Real: every process,
 * Postgres, signatures, files. Doubled: nothing; the sweep of a worker is one call of its function.
 * Verdicts: rows, the provider's own records, the lines of the processes.
 */
import { readFileSync, rmSync, statSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { createHostClient, type HostCall } from '../../src/hosts/client';
import { ROUTE_TOKEN_ISSUER } from '../../src/hosts/protocol/route-tokens';
import { didOfKey } from '../../src/signing/did-key';
import { importSigningKey } from '../../src/signing/keys';
import { callTo, json } from '../hosts/support/fixtures';
import { HEARTBEAT_MS, HostRig, LEASE_MS, type RunningHost } from '../support/host-rig';
import type { WaybillProcess } from '../support/processes';
import { until } from '../support/until';
import { failureOf, newHome, removeHomes, waybill } from './waybill';

const BODY = json({ title: 'Broken lamp' });
let rig: HostRig;

beforeAll(async () => {
  rig = await HostRig.start();
});
afterAll(async () => {
  await rig.stop();
  removeHomes();
});

/** The line with which a process ends. */
async function lastWords(process: WaybillProcess): Promise<string> {
  await process.ended();
  return process.text.findLast((line) => line.startsWith('waybill: ')) ?? '';
}

function to(host: RunningHost, more: Partial<HostCall> & { readonly replica: string }): HostCall {
  const { replica, ...rest } = more;
  return callTo(host, { route: { replicaId: replica }, ...rest });
}

test('two hosts register, become ready, and keep their leases', async () => {
  await Promise.all(['a1', 'a2'].map((id) => rig.replica(id)));
  const hosts = await Promise.all(['a1', 'a2'].map((id) => rig.host(id)));
  for (const id of ['a1', 'a2']) {
    expect(await rig.reaches(id, 'ready')).toMatchObject({ incarnation: 1 });
  }
  const [first] = hosts;
  expect((await rig.row('a1')).storeEpoch).toBe(first?.storeEpoch);
  const { healthRevision } = await rig.row('a1');
  const beats = Math.ceil((LEASE_MS * 1.5) / HEARTBEAT_MS);
  await until('it has outlived its lease', async () =>
    (await rig.row('a1')).healthRevision >= healthRevision + beats ? true : null,
  );
  await rig.sweep();
  expect(await rig.row('a1')).toMatchObject({ status: 'ready', incarnation: 1 });
  await Promise.all(hosts.map(({ process }) => process.stop()));
});

test('the service of hosts connects as the role of leases and as no other', async () => {
  const rows = await rig.db.rows<{ pool: string }>(
    `select distinct application_name as pool from pg_stat_activity
      where datname = current_database() and application_name like 'waybill-%'
        and application_name <> 'waybill-test'`,
  );
  expect(rows).toEqual([{ pool: 'waybill-lifecycle' }]);
});

test('a host believes tokens of the deployment, and its effect is at the provider', async () => {
  await rig.replica('b1');
  const host = await rig.host('b1');
  const client = createHostClient({
    ...{ issuer: ROUTE_TOKEN_ISSUER, key: await rig.deploymentKey(), nowMs: Date.now },
    ...{ newJti: randomUUID, connectionsPerHost: 2 },
  });
  const call = to(host, { replica: 'b1', incarnation: 1 });
  const result = await client.execute(call, BODY);
  expect(result).toMatchObject({ outcome: { kind: 'succeeded' }, storeEpoch: host.storeEpoch });
  expect(await effectsOf(call)).toBe(1);
  await client.close();
  await host.process.stop();
});

test('a host killed at a point and started again answers from its memory', async () => {
  await rig.replica('c1');
  const doomed = await rig.host('c1', 'provider_response_received');
  const client = createHostClient({
    ...{ issuer: ROUTE_TOKEN_ISSUER, key: await rig.deploymentKey(), nowMs: Date.now },
    ...{ newJti: randomUUID, connectionsPerHost: 2 },
  });
  const call = to(doomed, { replica: 'c1', incarnation: 1 });
  const lost = client.execute(call, BODY);
  await doomed.process.heldAt('provider_response_received');
  await doomed.process.kill();
  expect(await lost).toMatchObject({ kind: 'lost', cause: 'host' });
  const heir = await rig.host('c1');
  expect(heir.storeEpoch).toBe(doomed.storeEpoch);
  const again = to(heir, { replica: 'c1', incarnation: 2, fence: 11 });
  const found = await client.reconcile({
    ...again,
    route: { ...again.route, actionId: call.route.actionId },
  });
  expect(found).toMatchObject({ outcome: { kind: 'succeeded' } });
  expect(await effectsOf(call)).toBe(1);
  await client.close();
  await heir.process.stop();
});

test('a killed host is offline once its lease is over; its heir is a new incarnation', async () => {
  await rig.replica('d1');
  const host = await rig.host('d1');
  await rig.reaches('d1', 'ready');
  await host.process.kill();
  await until('the sweep finds it', async () => {
    await rig.sweep();
    return (await rig.row('d1')).status === 'offline' ? true : null;
  });
  const heir = await rig.host('d1');
  expect(await rig.reaches('d1', 'ready')).toMatchObject({
    ...{ incarnation: 2, storeEpoch: host.storeEpoch },
  });
  await heir.process.stop();
});

test('a host that stood still for longer than its lease comes back by itself', async () => {
  await rig.replica('e1');
  const { process } = await rig.host('e1');
  await rig.reaches('e1', 'ready');
  process.signal('SIGSTOP');
  await until('the sweep finds it', async () => {
    await rig.sweep();
    return (await rig.row('e1')).status === 'offline' ? true : null;
  });
  process.signal('SIGCONT');
  expect(await rig.reaches('e1', 'ready')).toMatchObject({ incarnation: 2 });
  await process.stop();
});

test('asked to end, a host drains, waits until it is drained, and goes offline', async () => {
  await rig.replica('f1');
  const host = await rig.host('f1');
  await rig.reaches('f1', 'ready');
  await host.process.stop();
  const said = await rig.accepted('f1');
  expect(said.slice(-3)).toEqual(['drain draining', 'heartbeat drained', 'offline offline']);
  expect(await rig.row('f1')).toMatchObject({ status: 'offline' });
});

test('a host without its store is a new memory', async () => {
  await rig.replica('g1');
  const first = await rig.host('g1');
  await first.process.stop();
  for (const end of ['', '-wal', '-shm']) rmSync(rig.file(`g1.sqlite${end}`), { force: true });
  const second = await rig.host('g1');
  expect(second.storeEpoch).not.toBe(first.storeEpoch);
  expect(await rig.row('g1')).toMatchObject({ incarnation: 2, storeEpoch: second.storeEpoch });
  await second.process.stop();
});

test('one store, one port, one process: the second one says what is taken', async () => {
  await rig.replica('h1');
  const host = await rig.host('h1');
  const sameStore = await lastWords(rig.launch('h1'));
  expect(sameStore).toMatch(/another process has .*h1\.sqlite open \(store_in_use\)$/);
  const listen = new URL(host.url).host;
  const own = ['--store', rig.file('other.sqlite')];
  const samePort = await lastWords(rig.launch('h1', { args: ['--listen', listen, ...own] }));
  expect(samePort).toMatch(
    /^waybill: port \d+ on 127\.0\.0\.1 is taken.*--listen.*\(port_in_use\)$/,
  );
  // With a store and a port of its own it takes the place, and the first one ends.
  const usurper = rig.launch('h1', { args: own });
  await usurper.logged('host started');
  expect(await lastWords(host.process)).toMatch(/another process has registered.*host_turned_away/);
  await usurper.stop();
});

test('a replica that Waybill has not, or with another manifest, is one line', async () => {
  const unknown = await lastWords(rig.launch('nobody', { args: ['--key', 'env:TEST_KEY_OF_I1'] }));
  expect(unknown).toContain('(config_invalid)');
  await rig.replica('i1');
  const stranger = rig.launch('i1', { args: ['--replica', 'nobody'] });
  expect(await lastWords(stranger)).toMatch(/no replica nobody.*\(host_turned_away\)$/);
  const other = rig.launch('i1', { args: ['--connector-version', '2.0.0'] });
  expect(await lastWords(other)).toMatch(/serves the manifest .*\(manifest_mismatch\)$/);
});

test('a new key is for its owner alone, is never written over, and its DID is printed', async () => {
  const file = `${newHome()}/host.jwk`;
  const made = await waybill(['host', '--new-key', file]);
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const key = await importSigningKey(readFileSync(file, 'utf8'));
  expect(made.stdout).toBe(`${didOfKey(key.publicJwk.x)}\n`);
  const again = failureOf(await waybill(['host', '--new-key', file]));
  expect(again).toMatchObject({ code: 'config_invalid' });
});

test('what is missing or wrong is named, all of it', async () => {
  const { message, code } = failureOf(await waybill(['host', '--listen', 'here']));
  expect(code).toBe('config_invalid');
  for (const named of [
    '--replica (WAYBILL_HOST_REPLICA) is missing',
    '--key (WAYBILL_HOST_KEY) is missing',
    '--listen (WAYBILL_HOST_LISTEN): write host:port',
  ]) {
    expect(message).toContain(named);
  }
});

test('a variable that is set but empty counts as not set', async () => {
  const empty = { WAYBILL_HOST_TENANT: '', WAYBILL_HOST_LISTEN: '', WAYBILL_HOST_HEARTBEAT: '' };
  const { message, code } = failureOf(await waybill(['host'], empty));
  expect(code).toBe('config_invalid');
  expect(message).toContain('--tenant (WAYBILL_HOST_TENANT) is missing');
  expect(message).not.toMatch(/--listen|--heartbeat/);
});

async function effectsOf(call: HostCall): Promise<number> {
  const { actionId } = call.route;
  const response = await fetch(`${rig.provider}/v1/effects?reference=${actionId}`, {
    headers: { authorization: 'Bearer token-of-acme' },
  });
  const { effects } = (await response.json()) as { readonly effects: readonly unknown[] };
  return effects.length;
}
