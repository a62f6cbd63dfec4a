/** Real: files on disk. Doubled: the environment and the clock, which are parameters. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { SecretError, type SecretProvider } from '../../src/secrets/provider';
import { referencedSecrets } from '../../src/secrets/references';
import { SecretText } from '../../src/secrets/secret-text';

let dir: string;
let secrets: SecretProvider;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'waybill-secrets-'));
  mkdirSync(join(dir, 'base'));
  const env = { TOKEN: 'planted', EMPTY: '', UNSET: undefined };
  secrets = referencedSecrets({ env, baseDir: join(dir, 'base') });
});
afterAll(() => {
  rmSync(dir, { recursive: true });
});

function write(name: string, content: string | Uint8Array): string {
  writeFileSync(join(dir, 'base', name), content);
  return `file:${name}`;
}

async function valueOf(ref: string): Promise<string> {
  return (await secrets.resolve(ref)).value.reveal();
}

async function fault(ref: string, provider = secrets): Promise<[string, string]> {
  const error = await provider.resolve(ref).catch((thrown: unknown) => thrown);
  if (!(error instanceof SecretError)) throw new Error('expected a SecretError');
  return [error.fault, error.message];
}

it('reads the environment that it was given', async () => {
  expect(await valueOf('env:TOKEN')).toBe('planted');
  expect(await fault('env:EMPTY')).toEqual(['empty', 'secret env:EMPTY is empty']);
  expect(await fault('env:UNSET')).toEqual(['not_found', 'secret env:UNSET is not set']);
  expect((await fault('env:toString'))[0]).toBe('not_found');
});

it.each([
  ['one\n', 'one'],
  ['one\r\n', 'one'],
  ['one', 'one'],
  ['one\n\n', 'one\n'],
  [' one \n', ' one '],
])('a file of %j holds %j', async (content, value) => {
  expect(await valueOf(write('token', content))).toBe(value);
  expect(await valueOf(`file:${join(dir, 'base/token')}`)).toBe(value);
});

it('names what is wrong with a file', async () => {
  expect((await fault('file:absent'))[0]).toBe('not_found');
  expect((await fault(`file:${dir}`))[0]).toBe('unreadable');
  expect((await fault(write('empty', '\n')))[0]).toBe('empty');
  expect((await fault(write('large', 'x'.repeat(65_537))))[0]).toBe('unreadable');
  const [code, message] = await fault(write('bytes', Buffer.from([0x70, 0xff])));
  expect([code, message]).toEqual(['unreadable', 'secret file:bytes is not UTF-8 text']);
});

it('does not wait for a pipe that nobody writes to', async () => {
  execFileSync('mkfifo', [join(dir, 'base/pipe')]);
  expect((await fault('file:pipe'))[0]).toBe('unreadable');
});

it('keeps relative paths inside the base folder, and needs one', async () => {
  writeFileSync(join(dir, 'outside'), 'planted');
  for (const ref of ['file:../outside', 'file:..', 'file:a/../../outside']) {
    expect((await fault(ref))[0]).toBe('malformed');
  }
  expect((await fault('file:token', referencedSecrets({ env: {} })))[0]).toBe('malformed');
  expect(await valueOf(write('..token', 'odd name'))).toBe('odd name');
});

it('refuses what is no reference, without quoting it: it may be the secret itself', async () => {
  for (const ref of [
    'whsec_planted',
    '',
    ':',
    'planted:planted',
    'env:',
    'env:pla-nted',
    'file:',
  ]) {
    const [code, message] = await fault(ref);
    expect(code).toBe('malformed');
    expect(message).not.toMatch(/planted|pla-nted/);
  }
  expect(await fault('vault:kv/app#key')).toEqual([
    'not_configured',
    'secret vault:kv/app#key needs VAULT_ADDR to be set',
  ]);
});

it('has a revision that changes with the value and comes back with it', async () => {
  const revision = async (content: string) =>
    (await secrets.resolve(write('rotated', content))).revision;
  const first = await revision('one');
  expect(await revision('two')).not.toBe(first);
  expect(await revision('one\n')).toBe(first);
});

it('a value shows itself only when it is revealed', () => {
  const secret = new SecretText('planted');
  const shown = [String(secret), JSON.stringify({ secret }), inspect({ secret }, { depth: 9 })];
  for (const text of [
    ...shown,
    inspect(secret, { showHidden: true }),
    Object.keys(secret).join(),
  ]) {
    expect(text).not.toContain('planted');
  }
  expect(shown.slice(0, 2)).toEqual(['[secret]', '{"secret":"[secret]"}']);
  expect(secret.reveal()).toBe('planted');
});
