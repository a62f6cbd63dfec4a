/** What the served part `admin` is made of, beside its tokens. */
import { randomBytes } from 'node:crypto';
import type { Database } from '../db/database';
import type { AdminDeps } from '../http/deps';
import type { Config } from '../schemas/config';

/** @param control role waybill_control */
export function adminDeps(config: Config, control: Database): Omit<AdminDeps, 'tokens'> {
  return {
    subscriptions: {
      control,
      tenantSecrets: config.tenantSecrets,
      newIngressRef: () => randomBytes(16).toString('hex'),
    },
  };
}
