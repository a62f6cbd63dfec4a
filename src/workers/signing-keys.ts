/** The key that receipts are signed with. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { WaybillError } from '../domain/errors';
import { didOfKey } from '../signing/did-key';
import type { Config } from '../schemas/config';
import type { SecretProvider } from '../secrets/provider';
import type { SigningKey } from '../signing/keys';
import { generateKeyText, importSigningKey } from '../signing/keys';

/**
 * The private JWK of the configured key, or for one machine a key of its own under the home folder,
 * made on first use and readable by its owner alone.
 * @throws WaybillError `config_invalid` when the key cannot be read or is none; it names the setting
 *   that leads to it
 */
export async function loadSigningKeyText(config: Config, secrets: SecretProvider): Promise<string> {
  const { signingKeyRef } = config;
  if (signingKeyRef === null) return await ownKey(config, 'receipts.jwk');
  return await keyOf({ setting: 'WAYBILL_SIGNING_KEY' }, async () => {
    return (await secrets.resolve(signingKeyRef)).value.reveal();
  });
}

/** The key itself; see `loadSigningKeyText`. */
export async function loadSigningKey(config: Config, secrets: SecretProvider): Promise<SigningKey> {
  return await importSigningKey(await loadSigningKeyText(config, secrets));
}

/**
 * The private JWK of the development tokens, made on first use.
 * @throws WaybillError `config_invalid` when the home folder does not serve
 */
export async function developmentKeyText(config: Config): Promise<string> {
  return await ownKey(config, 'development-tokens.jwk');
}

/**
 * The private key of a demo host, made on first use.
 * @throws WaybillError `config_invalid` when the home folder does not serve
 */
export async function demoHostKey(home: string, name: string): Promise<DemoHostKey> {
  const text = await ownKey({ home }, `${name}.jwk`);
  const { publicJwk } = await importSigningKey(text);
  return { file: path.resolve(home, 'keys', `${name}.jwk`), did: didOfKey(publicJwk.x) };
}

export interface DemoHostKey {
  /** Absolute. */
  readonly file: string;
  readonly did: string;
}

function ownKey({ home }: Pick<Config, 'home'>, name: string): Promise<string> {
  const folder = path.join(home, 'keys');
  const origin = { setting: 'WAYBILL_HOME', file: path.join(folder, name) };
  return keyOf(origin, () => keyFile(folder, name));
}

/** Where a key comes from. A reference is not quoted: somebody may have put the key itself there. */
interface KeyOrigin {
  readonly setting: string;
  readonly file?: string;
}

/** Reads a key and looks whether it is one; a failure blames its origin. */
async function keyOf({ setting, file }: KeyOrigin, read: () => Promise<string>): Promise<string> {
  try {
    const text = await read();
    await importSigningKey(text);
    return text;
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unreadable';
    const where = file === undefined ? '' : `${file}: `;
    throw new WaybillError('config_invalid', `${setting}: ${where}${reason}`, {
      field: setting,
      cause: error,
    });
  }
}

/**
 * Reads a private key file, made on first use. Two processes that make it at once agree on one: the
 * file appears whole or not at all.
 */
async function keyFile(folder: string, name: string): Promise<string> {
  const file = path.join(folder, name);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (!existsSync(file)) {
    const draft = `${file}.${randomUUID()}`;
    await writeFile(draft, await generateKeyText(), { flag: 'wx', mode: 0o600 });
    await link(draft, file).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    });
    await unlink(draft);
  }
  return await readFile(file, 'utf8');
}
