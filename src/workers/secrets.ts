/** The secret provider of a process: environment, files and Vault, with a short cache. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../schemas/config';
import { cachedSecrets } from '../secrets/cache';
import { SecretError, type SecretProvider } from '../secrets/provider';
import { referencedSecrets } from '../secrets/references';
import type { VaultSettings } from '../secrets/vault';

/** A rotated secret is seen within this time, without a restart. */
const SECRET_TTL_MS = 5_000;
/** One that cannot be read is asked for once a second, however many requests want it. */
const FAILURE_TTL_MS = 1_000;

export function processSecrets(config: Config): SecretProvider {
  return cachedSecrets(
    referencedSecrets({
      env: process.env,
      baseDir: path.resolve(config.secretsDir),
      vault: vaultSettings(config, process.env),
    }),
    { ttlMs: SECRET_TTL_MS, failureTtlMs: FAILURE_TTL_MS, nowMs: () => performance.now() },
  );
}

/** Null: there is no Vault. A token of a file, which an agent renews, goes before one of VAULT_TOKEN. */
export function vaultSettings(
  { vault }: Config,
  env: Readonly<Record<string, string | undefined>>,
): VaultSettings | null {
  const { address, namespace, caFile, tokenFile } = vault;
  if (address === null) return null;
  const token = async () => {
    const text = tokenFile === null ? env['VAULT_TOKEN'] : await readFile(tokenFile, 'utf8');
    const given = text?.trim() ?? '';
    if (given !== '') return given;
    throw new SecretError('not_configured', 'Vault needs VAULT_TOKEN or WAYBILL_VAULT_TOKEN_FILE');
  };
  return { address, namespace, caFile, token };
}
