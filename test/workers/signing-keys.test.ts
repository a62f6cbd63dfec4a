/** Where keys come from, and which setting is blamed when they do not: real files and variables. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseConfig } from '../../src/schemas/config';
import { envSecrets } from '../../src/secrets/env';
import { developmentKeyText, loadSigningKeyText } from '../../src/workers/signing-keys';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'waybill-keys-'));
  await chmod(folder, 0o700);
});
afterEach(() => rm(folder, { recursive: true }));

const load = (environment: Readonly<Record<string, string>>, home = folder) =>
  loadSigningKeyText(
    parseConfig({ WAYBILL_HOME: home, ...environment }),
    envSecrets({ NO_KEY: 'the value of a variable' }),
  );

const blaming = (field: string, message: string) => ({
  ...{ code: 'config_invalid', field },
  message: expect.stringMatching(new RegExp(`^${field}: .*${message}`)) as string,
});

test("a machine's own key is made once", async () => {
  const first = await load({});
  expect(await load({})).toBe(first);
  expect(await readFile(path.join(folder, 'keys', 'receipts.jwk'), 'utf8')).toBe(first);
});

test('a configured key that is not there or is none blames its setting, without its value', async () => {
  const missing = load({ WAYBILL_SIGNING_KEY: 'env:NOWHERE' });
  await expect(missing).rejects.toMatchObject(blaming('WAYBILL_SIGNING_KEY', 'env:NOWHERE'));
  const refusal: unknown = await load({ WAYBILL_SIGNING_KEY: 'env:NO_KEY' }).catch(
    (error: unknown) => error,
  );
  expect(refusal).toMatchObject(blaming('WAYBILL_SIGNING_KEY', ''));
  expect(String(refusal)).not.toContain('the value');
});

test('a home folder that cannot hold keys is blamed itself', async () => {
  const file = path.join(folder, 'a-file');
  await writeFile(file, '');
  await expect(load({}, file)).rejects.toMatchObject(blaming('WAYBILL_HOME', 'a-file'));
  const development = developmentKeyText(parseConfig({ WAYBILL_HOME: file }));
  await expect(development).rejects.toMatchObject(blaming('WAYBILL_HOME', 'a-file'));
});

test('a key of the home folder that was damaged is named with its file', async () => {
  await load({});
  await writeFile(path.join(folder, 'keys', 'receipts.jwk'), 'damaged');
  await expect(load({})).rejects.toMatchObject(blaming('WAYBILL_HOME', 'receipts.jwk'));
});
