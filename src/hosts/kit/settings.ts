/** What a connector's process is told by its environment (docs/writing-a-connector). */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { WaybillError } from '../../domain/errors';
import { Duration } from '../../schemas/durations';
import { ListenAddress } from '../../schemas/listen-addresses';
import type { HostIdentity } from './checks';
import type { HostOptions } from './host';
import type { LifecycleOptions } from './lifecycle';

const Id = z.string().min(1).max(200);
const HttpUrl = z.url({ protocol: /^https?$/, error: 'write an http or https URL' });
const Environment = z.object({
  WAYBILL_HOST_REPLICA: Id,
  WAYBILL_HOST_TENANT: Id,
  WAYBILL_HOST_INSTANCE: Id,
  WAYBILL_HOST_CREDENTIALS: z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(Id).min(1)),
  WAYBILL_HOST_KEY: z.string().regex(/^(env|file):.+$/s, 'write env:NAME or file:PATH'),
  WAYBILL_HOST_STORE: z.string().min(1),
  WAYBILL_HOST_LIFECYCLE_URL: HttpUrl.default('http://127.0.0.1:7380'),
  WAYBILL_LIFECYCLE_AUDIENCE: z.string().min(1).default('urn:waybill:lifecycle'),
  WAYBILL_HOST_HEARTBEAT: Duration.default(10_000),
  WAYBILL_HOST_LISTEN: ListenAddress.default({ host: '127.0.0.1', port: 7390 }),
  WAYBILL_SHUTDOWN_GRACE: Duration.default(20_000),
});

export interface HostSettings {
  readonly identity: Omit<HostIdentity, 'connectorId' | 'version'>;
  /** A private Ed25519 JWK as JSON text. */
  readonly keyText: string;
  readonly storeFile: string;
  readonly registration: LifecycleOptions;
  readonly listen: HostOptions['listen'];
  readonly retireMs: number;
}

/**
 * Reads the variables `WAYBILL_HOST_…`; one that is set and empty counts as not set.
 * @throws WaybillError `config_invalid` naming every variable that is missing or wrong
 */
export function hostSettings(env: Readonly<Record<string, string | undefined>>): HostSettings {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = Environment.safeParse(given);
  if (!parsed.success) {
    const named = parsed.error.issues.map(({ path, message, code }) =>
      code === 'invalid_type' ? `${String(path[0])} is missing` : `${String(path[0])}: ${message}`,
    );
    throw new WaybillError('config_invalid', named.join('; '));
  }
  const { data } = parsed;
  return {
    identity: {
      tenantId: data.WAYBILL_HOST_TENANT,
      instanceId: data.WAYBILL_HOST_INSTANCE,
      replicaId: data.WAYBILL_HOST_REPLICA,
      credentialRevisions: data.WAYBILL_HOST_CREDENTIALS,
    },
    keyText: keyTextOf(data.WAYBILL_HOST_KEY, env),
    storeFile: data.WAYBILL_HOST_STORE,
    registration: {
      url: data.WAYBILL_HOST_LIFECYCLE_URL,
      audience: data.WAYBILL_LIFECYCLE_AUDIENCE,
      heartbeatMs: data.WAYBILL_HOST_HEARTBEAT,
    },
    listen: data.WAYBILL_HOST_LISTEN,
    retireMs: data.WAYBILL_SHUTDOWN_GRACE,
  };
}

function keyTextOf(reference: string, env: Readonly<Record<string, string | undefined>>): string {
  const place = reference.slice(reference.indexOf(':') + 1);
  if (reference.startsWith('file:')) return keyFileText(place);
  const text = env[place];
  if (text !== undefined && text !== '') return text;
  throw new WaybillError('config_invalid', `WAYBILL_HOST_KEY: ${place} is not set`);
}

function keyFileText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const message = `WAYBILL_HOST_KEY: ${file} cannot be read`;
    throw new WaybillError('config_invalid', message, { cause: error });
  }
}
