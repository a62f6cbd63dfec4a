/** The secret provider of a process: environment and files, with a short cache. */
import path from 'node:path';
import type { Config } from '../schemas/config';
import { cachedSecrets } from '../secrets/cache';
import type { SecretProvider } from '../secrets/provider';
import { referencedSecrets } from '../secrets/references';

/** A rotated secret is seen within this time, without a restart. */
const SECRET_TTL_MS = 5_000;

export function processSecrets(config: Config): SecretProvider {
  return cachedSecrets(
    referencedSecrets({ env: process.env, baseDir: path.resolve(config.secretsDir) }),
    { ttlMs: SECRET_TTL_MS, nowMs: () => performance.now() },
  );
}
