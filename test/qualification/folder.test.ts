/** Whose folder evidence may go to, and what must not get into it. Real files. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { EvidenceFolder } from '../../src/qualification/evidence/folder';
import { SecretValues } from '../../src/qualification/evidence/secret-values';

const root = mkdtempSync(path.join(tmpdir(), 'waybill-evidence-'));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const claim = (name: string, secrets = new SecretValues()) =>
  EvidenceFolder.claim(path.join(root, name), { runId: 'one' }, secrets);

test('a folder that is empty, or not there, is taken once', () => {
  mkdirSync(path.join(root, 'empty'));
  expect(claim('empty').path).toBe(path.join(root, 'empty'));
  expect(claim('new/below').path).toBe(path.join(root, 'new', 'below'));
  expect(() => claim('empty')).toThrow(/--evidence: .*is not empty/);
});

test('a folder with anything in it, a file, and a link elsewhere are left alone', () => {
  mkdirSync(path.join(root, 'kept'));
  writeFileSync(path.join(root, 'kept', '.hidden'), 'mine');
  symlinkSync(path.join(root, 'empty-too'), path.join(root, 'link'));
  mkdirSync(path.join(root, 'empty-too'));
  for (const name of ['kept', 'kept/.hidden', 'link']) {
    let thrown: unknown = null;
    try {
      claim(name);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: 'config_invalid', field: '--evidence' });
  }
  expect(readFileSync(path.join(root, 'kept', '.hidden'), 'utf8')).toBe('mine');
});

test('no secret that was noted gets into a file, whatever the file', () => {
  const secrets = new SecretValues();
  const secret = secrets.note('a-secret-of-this-run-1');
  const folder = claim('secrets', secrets);
  folder.json('one.json', { password: secret });
  folder.text('two.log', `login with ${secret}\n`);
  folder.line('three.jsonl', { url: `postgres://user:${secret}@host` });
  for (const name of ['one.json', 'two.log', 'three.jsonl']) {
    const text = readFileSync(path.join(folder.path, name), 'utf8');
    expect(text).not.toContain(secret);
    expect(text).toContain('[redacted]');
  }
  expect(secrets.countIn(`${secret} and ${secret}`)).toBe(2);
});
