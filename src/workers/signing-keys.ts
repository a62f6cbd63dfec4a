/** The key that receipts are signed with. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { WaybillError } from '../domain/errors';
import type { Config } from '../schemas/config';
import type { SecretProvider } from '../secrets/provider';
import type { SigningKey } from '../signing/keys';
import { generateKeyText, importSigningKey } from '../signing/keys';

/**
 * The private JWK of the configured key, or for one machine a key of its own under the home folder,
 * made on first use and readable by its owner alone.
 * @throws WaybillError `config_invalid` when the configured key cannot be read or is none
 */
export async function loadSigningKeyText(config: Config, secrets: SecretProvider): Promise<string> {
  try {
    const text =
      config.signingKeyRef === null
        ? await ownKey(keyFolder(config), 'receipts.jwk')
        : (await secrets.resolve(config.signingKeyRef)).value.reveal();
    await importSigningKey(text);
    return text;
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unreadable';
    throw new WaybillError('config_invalid', `WAYBILL_SIGNING_KEY: ${reason}`, {
      field: 'WAYBILL_SIGNING_KEY',
      cause: error,
    });
  }
}

/** The key itself; see `loadSigningKeyText`. */
export async function loadSigningKey(config: Config, secrets: SecretProvider): Promise<SigningKey> {
  return await importSigningKey(await loadSigningKeyText(config, secrets));
}

/** The private JWK of the development tokens, made on first use. */
export async function developmentKeyText(config: Config): Promise<string> {
  return await ownKey(keyFolder(config), 'development-tokens.jwk');
}

function keyFolder(config: Config): string {
  return path.join(config.home, 'keys');
}

/**
 * Reads a private key file, made on first use. Two processes that make it at once agree on one: the
 * file appears whole or not at all.
 */
async function ownKey(folder: string, name: string): Promise<string> {
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
