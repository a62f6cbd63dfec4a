import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compiledPath } from '../../../src/workers/embedded/compiled';
import { acquireInstanceLock } from '../../../src/workers/embedded/instance-lock';
import { newFolder, removeFolders, runProgram } from './fixtures';

afterAll(removeFolders);

/** Holders are real processes that run the compiled module. */
function holderProgram(folder: string): string {
  return `
    require(${JSON.stringify(compiledPath('instance-lock'))})
      .acquireInstanceLock(${JSON.stringify(folder)})
      .then(() => console.log('held'), (error) => console.log(error.code));
    setInterval(() => {}, 1000);`;
}

describe('instance lock', () => {
  test('a second instance is refused with the pid of the first and what to do', async () => {
    const folder = newFolder();
    const { child, line } = await runProgram(holderProgram(folder));
    expect(line).toBe('held');
    await expect(acquireInstanceLock(folder)).rejects.toMatchObject({
      code: 'instance_running',
      message:
        `Another Waybill (process ${child.pid}) runs in ${folder}; stop it, or use another ` +
        'folder with WAYBILL_HOME.',
    });
    child.kill('SIGKILL');
    await once(child, 'exit');
  });

  test('the lock of a killed holder is free at once', async () => {
    const folder = newFolder();
    const { child } = await runProgram(holderProgram(folder));
    child.kill('SIGKILL');
    await once(child, 'exit');
    const lock = await acquireInstanceLock(folder);
    expect(readdirSync(folder)).toEqual([
      expect.stringMatching(`^instance-${process.pid}-.*json$`),
      expect.stringMatching(`^instance-${process.pid}-.*held$`),
    ]);
    lock.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('a pid that something else has by now does not hold the lock', async () => {
    const folder = newFolder();
    const claim = { pid: process.ppid, identity: 'another boot:1' };
    writeFileSync(join(folder, 'instance-1-00000000.json'), JSON.stringify(claim));
    writeFileSync(join(folder, 'instance-1-00000000.json.held'), '');
    (await acquireInstanceLock(folder)).release();
  });

  test('of many that start in the same instant exactly one wins', async () => {
    const folder = newFolder();
    const programs = await Promise.all([1, 2, 3, 4].map(() => runProgram(holderProgram(folder))));
    const answers = programs.map(({ line }) => line);
    expect(answers.filter((line) => line === 'held')).toHaveLength(1);
    expect(answers.filter((line) => line === 'instance_running')).toHaveLength(3);
    for (const { child } of programs) child.kill('SIGKILL');
    await Promise.all(programs.map(({ child }) => once(child, 'exit')));
  });

  test('a released lock can be taken again by the same process', async () => {
    const folder = newFolder();
    (await acquireInstanceLock(folder)).release();
    const lock = await acquireInstanceLock(folder);
    await expect(acquireInstanceLock(folder)).rejects.toMatchObject({ code: 'instance_running' });
    lock.release();
  });

  test('a folder that cannot be used is one line with the setting', async () => {
    const file = join(newFolder(), 'file');
    writeFileSync(file, '');
    await expect(acquireInstanceLock(join(file, 'state'))).rejects.toMatchObject({
      code: 'config_invalid',
      field: 'WAYBILL_HOME',
    });
  });
});
