/**
 * `waybill conformance`, as an author runs it: no server, no database. Real: its process, the host's
 * process, the provider, sockets.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { startProvider, type Provider } from '../../src/hosts/provider/provider';
import { freePort } from '../../src/workers/embedded/ports';
import { newKey } from '../hosts/support/fixtures';
import { CASES, notesHost } from '../conformance/support/sandbox';
import { failureOf, finished, newHome, removeHomes, startWaybill, waybill } from './waybill';

const WHO = ['--tenant', 'acme', '--instance', 'acme-tickets', '--credential', '7'];
let home: string;
let provider: Provider;

beforeAll(async () => {
  home = newHome();
  provider = await startProvider({
    file: path.join(home, 'provider.sqlite'),
    accounts: { secret: 'acme' },
    listen: { host: '127.0.0.1', port: 0 },
  });
});
afterAll(async () => {
  await provider.stop();
  removeHomes();
});

function casesFile(name: string, cases: object): string {
  const file = path.join(home, name);
  writeFileSync(file, JSON.stringify(cases));
  return file;
}

test('the reference host passes as a process, to its orderly end', async () => {
  const [lifecycle, port] = [await freePort(), await freePort()];
  const key = path.join(home, 'host.jwk');
  await waybill(['host', '--new-key', key], { WAYBILL_HOME: home });
  const host = startWaybill(
    [
      ...['host', '--replica', 'acme-tickets-1', '--tenant', 'acme', '--connector', 'tickets'],
      ...['--connector-version', '1.0.0', '--instance', 'acme-tickets', '--credentials', '7'],
      ...[
        '--key',
        `file:${key}`,
        '--store',
        path.join(home, 'host.sqlite'),
        '--heartbeat',
        '300ms',
      ],
      ...['--lifecycle', `http://127.0.0.1:${String(lifecycle)}`],
      ...['--provider', provider.url, '--provider-token', 'env:TOKEN'],
      ...['--listen', `127.0.0.1:${String(port)}`],
    ],
    { WAYBILL_HOME: home, TOKEN: 'secret' },
  );
  const ended = finished(host);
  const { code, stdout } = await waybill(
    [
      ...['conformance', '--endpoint', `http://127.0.0.1:${String(port)}`, ...WHO, '--json'],
      ...['--listen', `127.0.0.1:${String(lifecycle)}`, '--host-pid', String(host.pid)],
      ...['--scheme', 'github'],
      '--cases',
      casesFile('cases.json', {
        'tickets.read': { valid: [{ recordId: 'acme.invoice-1' }] },
        'reports.build': {
          valid: [{ title: 'a report', durationMs: 0 }],
          slow: { title: 'a long report', durationMs: 10_000 },
        },
      }),
    ],
    { WAYBILL_HOME: home },
  );
  const report = JSON.parse(stdout) as { counts: object; cases: { verdict: string; id: string }[] };
  expect(report.cases.filter(({ verdict }) => verdict !== 'passed')).toEqual([]);
  const ids = report.cases.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(['lifecycle/drain', 'webhooks/vectors']));
  expect(code).toBe(0);
  expect((await ended).code).toBe(0);
});

test('a case that fails is told with its rule, what was sent and what came back', async () => {
  const lifecycle = await freePort();
  const listen = `127.0.0.1:${String(lifecycle)}`;
  const keys = { host: await newKey(), waybill: await newKey(), stranger: await newKey() };
  const port = await freePort();
  const running = startWaybill(
    [
      ...['conformance', '--endpoint', `http://127.0.0.1:${String(port)}`, ...WHO],
      ...['--listen', listen, '--cases'],
      casesFile('wrong.json', { ...CASES, 'notes.create': { invalid: [{ text: 'is a note' }] } }),
    ],
    { WAYBILL_HOME: home },
  );
  const ended = finished(running);
  const host = await notesHost(keys, {
    registration: { url: `http://${listen}`, heartbeatMs: 200, retryMs: 50 },
    listen: { host: '127.0.0.1', port },
  });
  const { code, stdout, stderr } = await ended;
  await host.stop().catch(() => undefined);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^FAILED: CAPABILITIES\/INVALID\/NOTES.CREATE$/m);
  expect(stdout).toMatch(/^ +rule +Refusals: a body that is no request of the capability/m);
  expect(stdout).toMatch(/^ +sent +PUT \/v1\/actions\/conformance-.*body \{"text":"is a note"\}$/m);
  expect(stdout).toMatch(/^ +came back +200, signed: succeeded/m);
  expect(stdout).toMatch(/^suite \S+: \d+ passed, 1 failed, 1 skipped$/m);
  expect(stderr).toMatch(/capabilities\/invalid\/notes.create failed: .*\(not_conformant\)$/m);
});

test('what is wrong with its options is said at once', async () => {
  const args = ['conformance', '--endpoint', 'http://127.0.0.1:1', ...WHO];
  const env = { WAYBILL_HOME: home };
  const file = casesFile('broken.json', { 'notes.create': { valid: 'yes' } });
  expect(failureOf(await waybill([...args, '--cases', file], env))).toEqual({
    code: 'config_invalid',
    message: expect.stringMatching(/^--cases: notes.create.valid: /) as string,
  });
  expect(failureOf(await waybill([...args, '--vectors', file], env))).toMatchObject({
    message: '--vectors: name their scheme, too: --scheme',
  });
  const silent = ['--wait', '100ms', '--listen', `127.0.0.1:${String(await freePort())}`];
  const { code, stderr } = await waybill([...args, ...silent], env);
  expect(code).toBe(1);
  expect(stderr).toMatch(/no host has registered within 100ms \(host_turned_away\)$/m);
});
