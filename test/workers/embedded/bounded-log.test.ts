import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BoundedLog } from '../../../src/workers/embedded/bounded-log';
import { newFolder, removeFolders } from './fixtures';

afterAll(removeFolders);

describe('bounded log', () => {
  test('keeps at most its size and one predecessor', () => {
    const path = join(newFolder(), 'a.log');
    const log = new BoundedLog(path, 100);
    for (let i = 0; i < 50; i += 1) log.write(Buffer.from(`line number ${i}\n`));
    expect(statSync(path).size).toBeLessThanOrEqual(100);
    expect(statSync(`${path}.1`).size).toBeLessThanOrEqual(100);
    expect(readFileSync(path, 'utf8')).toContain('line number 49');
  });

  test('begins a new file when the last run filled the old one', () => {
    const path = join(newFolder(), 'a.log');
    writeFileSync(path, 'x'.repeat(200));
    new BoundedLog(path, 100).write(Buffer.from('new\n'));
    expect(readFileSync(path, 'utf8')).toBe('new\n');
  });

  test('goes on after the last run when there is room', () => {
    const path = join(newFolder(), 'a.log');
    writeFileSync(path, 'old\n');
    new BoundedLog(path, 100).write(Buffer.from('new\n'));
    expect(readFileSync(path, 'utf8')).toBe('old\nnew\n');
  });

  test('a log that cannot be written still has its last lines', () => {
    const path = join(newFolder(), 'missing', 'a.log');
    const log = new BoundedLog(path, 100);
    log.write(Buffer.from('one\ntwo\n\nthree\n'));
    expect(log.lastLines(2)).toEqual(['two', 'three']);
    expect(existsSync(path)).toBe(false);
  });
});
