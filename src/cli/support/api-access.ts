/** Which API a command talks to, and as whom. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { WaybillError } from '../../domain/errors';
import { NAME_PATTERN } from '../../domain/ids';
import { isLoopbackUrl } from '../../domain/loopback';
import { SCOPES } from '../../http/scopes';
import type { Config } from '../../schemas/config';
import type { RunFile } from '../../workers/up/run-file';
import { ApiClient } from './api-client';
import { operatorName, surroundings, type Surroundings } from './environment';

export interface ApiOptions {
  readonly api?: string;
  readonly tenant?: string;
  /** Who asks, where the development key of this machine signs the token. */
  readonly as?: string;
}

/** Enough for one command, too little to be worth stealing. */
const TOKEN_LIFETIME_S = 15 * 60;

export function withApiOptions(command: Command): Command {
  return command
    .option(
      '--api <url>',
      'address of the API (default: WAYBILL_API_URL, or a running `waybill up`)',
    )
    .option('--tenant <name>', 'for which tenant (default: WAYBILL_TENANT, or the only one)');
}

/** @throws WaybillError `config_invalid` when the address or the tenant is not known */
export async function openApi(options: ApiOptions): Promise<ApiClient> {
  const around = surroundings();
  const base = apiBase(options, around.running);
  return new ApiClient(base, await bearerToken(options, around, base));
}

/** The API's address, without a trailing slash. */
export function apiBase(options: ApiOptions, running: RunFile | null): string {
  const base = options.api ?? given('WAYBILL_API_URL') ?? running?.addresses.api;
  if (base === undefined) {
    throw new WaybillError(
      'config_invalid',
      'no API is known: start one with `waybill up`, or set --api or WAYBILL_API_URL',
    );
  }
  if (!URL.canParse(base) || !/^https?:$/.test(new URL(base).protocol)) {
    throw new WaybillError('config_invalid', `${base} is no http or https address (--api)`);
  }
  return base.replace(/\/+$/, '');
}

async function bearerToken(
  options: ApiOptions,
  { config, running }: Surroundings,
  base: string,
): Promise<string> {
  const token = ownToken();
  if (token !== undefined) return token;
  // The development key makes any tenant: what it signs stays on this machine.
  if (!isLoopbackUrl(new URL(base)) || !existsSync(path.join(config.home, 'keys'))) {
    throw new WaybillError(
      'config_invalid',
      `set WAYBILL_TOKEN to a bearer token for ${base} (a development key is used for an API on ` +
        'this machine only, from the folder WAYBILL_HOME of that API)',
    );
  }
  return await developmentToken(config, tenantOf(options, running), options.as);
}

/** The token that the environment gives. */
export function ownToken(): string | undefined {
  return given('WAYBILL_TOKEN');
}

/** A token for an operator of the tenant, by the development key of the home folder. */
export async function developmentToken(
  config: Config,
  tenant: string,
  subject = operatorName(),
): Promise<string> {
  const { developmentKeyText } = await import('../../workers/signing-keys.js');
  const { issueDevelopmentToken } = await import('../../http/tokens/development.js');
  const { importSigningKey } = await import('../../signing/keys.js');
  return await issueDevelopmentToken(await importSigningKey(await developmentKeyText(config)), {
    tenantId: tenant,
    subject,
    scopes: Object.keys(SCOPES),
    issuedAt: new Date(),
    lifetimeS: TOKEN_LIFETIME_S,
  });
}

function tenantOf(options: ApiOptions, running: RunFile | null): string {
  const tenants = running?.tenants ?? [];
  const tenant =
    options.tenant ?? given('WAYBILL_TENANT') ?? (tenants.length === 1 ? tenants[0] : undefined);
  if (tenant !== undefined && NAME_PATTERN.test(tenant)) return tenant;
  const choice = tenants.length > 1 ? ` (one of ${tenants.join(', ')})` : '';
  const wrong =
    tenant === undefined ? 'name the tenant' : `${tenant} is no tenant's name; name one`;
  throw new WaybillError('config_invalid', `${wrong} with --tenant or WAYBILL_TENANT${choice}`);
}

function given(name: string): string | undefined {
  const value = process.env[name];
  return value === undefined || value === '' ? undefined : value;
}
