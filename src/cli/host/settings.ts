/** What a host process is told: its options, or their variables. */
import { z } from 'zod';
import { WaybillError } from '../../domain/errors';
import type { LifecycleOptions } from '../../hosts/kit/lifecycle';
import type { ReferenceHostOptions } from '../../hosts/reference/host';
import type { Config } from '../../schemas/config';
import { Duration } from '../../schemas/durations';
import { ListenAddress } from '../../schemas/listen-addresses';
import { importSigningKey } from '../../signing/keys';
import { processSecrets } from '../../workers/secrets';
import { namedOption } from './options';

export interface HostSettings extends Omit<ReferenceHostOptions, 'reach' | 'failed'> {
  readonly registration: LifecycleOptions;
}

const Id = z.string().min(1).max(200);
const HttpUrl = z.url({ protocol: /^https?$/, error: 'write an http or https URL' });
const Revisions = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(Id).min(1));

const Options = z.object({
  replica: Id,
  tenant: Id,
  connector: Id,
  connectorVersion: Id,
  instance: Id,
  credentials: Revisions,
  key: Id,
  store: z.string().min(1),
  lifecycle: HttpUrl,
  heartbeat: Duration,
  provider: HttpUrl,
  providerToken: Id,
  providerTimeout: Duration,
  listen: ListenAddress,
});

/**
 * Reads options and the secrets that they refer to.
 * @throws WaybillError `config_invalid` naming every option that is missing or wrong
 */
export async function hostSettings(
  given: Readonly<Record<string, string>>,
  config: Config,
): Promise<HostSettings> {
  const parsed = Options.safeParse(given);
  if (!parsed.success) throw wrong(parsed.error);
  const { data } = parsed;
  const secrets = processSecrets(config);
  const read = async (name: string, reference: string): Promise<string> => {
    try {
      return (await secrets.resolve(reference)).value.reveal();
    } catch (error) {
      throw invalid(name, error);
    }
  };
  return {
    identity: {
      tenantId: data.tenant,
      connectorId: data.connector,
      instanceId: data.instance,
      version: data.connectorVersion,
      replicaId: data.replica,
      credentialRevisions: data.credentials,
    },
    keyText: await keyText(await read('key', data.key)),
    storeFile: data.store,
    provider: { url: data.provider, token: await read('providerToken', data.providerToken) },
    providerTimeoutMs: data.providerTimeout,
    registration: {
      url: data.lifecycle,
      audience: config.lifecycleAudience,
      heartbeatMs: data.heartbeat,
    },
    listen: data.listen,
  };
}

async function keyText(text: string): Promise<string> {
  await importSigningKey(text).catch((error: unknown) => {
    throw invalid('key', error);
  });
  return text;
}

function wrong(error: z.ZodError): WaybillError {
  const named = error.issues.map(({ path, message, code }) => {
    const option = namedOption(String(path[0]));
    return code === 'invalid_type' ? `${option} is missing` : `${option}: ${message}`;
  });
  return new WaybillError('config_invalid', `${named.join('; ')}; see \`waybill host --help\``);
}

function invalid(name: string, cause: unknown): WaybillError {
  const reason = cause instanceof Error ? cause.message : 'unreadable';
  const option = namedOption(name);
  return new WaybillError('config_invalid', `${option}: ${reason}`, { field: option, cause });
}
