/** What the served part `admin` is made of, beside its tokens. */
import { randomBytes } from 'node:crypto';
import type { Database } from '../db/database';
import type { AdminDeps } from '../http/deps';
import type { Config } from '../schemas/config';
import { loadShippedSchemes } from '../schemas/shipped-schemes';
import type { SecretProvider } from '../secrets/provider';

/** @param control role waybill_control */
export function adminDeps(
  config: Config,
  control: Database,
  secrets: SecretProvider,
): Omit<AdminDeps, 'tokens'> {
  return {
    fleets: { schemes: loadShippedSchemes(), secrets },
    subscriptions: {
      control,
      secrets,
      tenantSecrets: config.tenantSecrets,
      newIngressRef: () => randomBytes(16).toString('hex'),
    },
  };
}
