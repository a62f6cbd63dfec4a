import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { compiledPath } from '../../../src/workers/embedded/compiled';
import { startGuarded } from '../../../src/workers/embedded/guarded-process';
import { pollUntil } from '../../../src/workers/embedded/poll';
import { identityOf, processState } from '../../../src/workers/embedded/process-identity';
import { endLeftOver, type ProcessRecord } from '../../../src/workers/embedded/process-record';
import { gone, newFolder, removeFolders, runProgram, toyServer } from './fixtures';

afterAll(removeFolders);

const STUBBORN = "process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1000)";

const DEADLINE = { timeoutMs: 5_000, intervalMs: 10 };

function recordOf(path: string): ProcessRecord {
  return JSON.parse(readFileSync(path, 'utf8')) as ProcessRecord;
}

/** Real processes; the server is a small Node program. */
describe('guarded process', () => {
  test('a stop ends the server and its guard and leaves no record', async () => {
    const spec = toyServer(newFolder());
    const server = await startGuarded(spec);
    const { guardPid } = recordOf(spec.recordFile);
    expect(processState(server.pid).alive).toBe(true);
    await expect(server.stop()).resolves.toMatchObject({ signal: 'SIGTERM' });
    await gone(server.pid);
    await gone(guardPid);
    expect(existsSync(spec.recordFile)).toBe(false);
  });

  test('a server that ignores the stop is forced', async () => {
    const spec = toyServer(newFolder(), STUBBORN);
    const server = await startGuarded(spec);
    await pollUntil(() => readFileSync(spec.logFile, 'utf8') === 'up\n', DEADLINE);
    await expect(server.stop()).resolves.toMatchObject({ signal: 'SIGKILL' });
  });

  test('an early end is reported with the last words', async () => {
    const program = "console.error('no such setting'); process.exit(3)";
    const server = await startGuarded(toyServer(newFolder(), program));
    const report = await server.exited;
    expect(report).toEqual({ code: 3, signal: null, tail: ['no such setting'] });
  });

  test('an executable that is not there is an error', async () => {
    const spec = { ...toyServer(newFolder()), command: '/no/such/program' };
    await expect(startGuarded(spec)).rejects.toThrow('ENOENT');
  });

  test('the server does not outlive a parent that is killed', async () => {
    const spec = toyServer(newFolder());
    const { child, line } = await runProgram(`
      require(${JSON.stringify(compiledPath('guarded-process'))})
        .startGuarded(${JSON.stringify(spec)})
        .then((server) => console.log(server.pid));
      setInterval(() => {}, 1000);`);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await gone(Number(line));
  });

  test('the server does not outlive a guard that is killed', async () => {
    const spec = toyServer(newFolder());
    const server = await startGuarded(spec);
    process.kill(recordOf(spec.recordFile).guardPid, 'SIGKILL');
    const report = await server.exited;
    expect(report.tail).toEqual(['its guard process was killed']);
    expect(processState(server.pid).alive).toBe(false);
  });
});

describe('left-over servers', () => {
  test('one whose parent and guard were killed is ended by the next start', async () => {
    const spec = toyServer(newFolder(), STUBBORN);
    const { child, line } = await runProgram(`
      require(${JSON.stringify(compiledPath('guarded-process'))})
        .startGuarded(${JSON.stringify(spec)})
        .then((server) => console.log(server.pid));
      setInterval(() => {}, 1000);`);
    const { guardPid } = recordOf(spec.recordFile);
    // Stopped, so that it cannot end the server when its guard goes.
    child.kill('SIGSTOP');
    process.kill(guardPid, 'SIGKILL');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(processState(Number(line)).alive).toBe(true);
    await expect(endLeftOver(spec.recordFile)).resolves.toBe('ended');
    await gone(Number(line));
  });

  test('a pid that belongs to something else by now is left alone', async () => {
    const spec = toyServer(newFolder());
    const { child } = await runProgram("console.log('up'); setInterval(() => {}, 1000)");
    const pid = child.pid ?? 0;
    const record: ProcessRecord = {
      name: 'toy',
      pid,
      identity: `${identityOf(pid)}1`,
      guardPid: pid,
      guardIdentity: 'another',
      stopSignal: 'SIGTERM',
      stopTimeoutMs: 100,
    };
    writeFileSync(spec.recordFile, JSON.stringify(record));
    await expect(endLeftOver(spec.recordFile)).resolves.toBe('none');
    expect(processState(pid).alive).toBe(true);
    expect(existsSync(spec.recordFile)).toBe(false);
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
});
