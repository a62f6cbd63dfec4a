/** `waybill connectors show`: one version with all that its descriptor says. */
import type { Command } from 'commander';
import { WaybillError } from '../../domain/errors';
import type { ConnectorDescriptor } from '../../schemas/api-connectors';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import type { ApiClient } from '../support/api-client';
import { printJson, printLine } from '../support/output';
import { facts, page, plain, titled } from '../support/sections';

interface ShowOptions extends ApiOptions {
  readonly connectorVersion: string;
  readonly json?: true;
}

export function addShow(connectors: Command): void {
  withApiOptions(
    connectors
      .command('show')
      .description('Show one connector version.')
      .argument('<connector>', 'the connector id')
      .requiredOption('--connector-version <version>', 'which version')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nExample:\n  $ waybill connectors show github --connector-version 1.0.0\n',
    )
    .action(show);
}

async function show(connectorId: string, options: ShowOptions): Promise<void> {
  const found = await find(await openApi(options), connectorId, options.connectorVersion);
  if (options.json) printJson(found);
  else printLine(pageOf(found));
}

/** @throws WaybillError `not_found` */
async function find(
  api: ApiClient,
  connectorId: string,
  version: string,
): Promise<ConnectorDescriptor> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await api.connectors.list({ connectorId, limit: '200', cursor });
    const found = page.connectors.find((row) => row.version === version);
    if (found !== undefined) return found;
    cursor = page.nextCursor;
  }
  throw new WaybillError('not_found', `there is no connector ${connectorId} of version ${version}`);
}

function pageOf(row: ConnectorDescriptor): string {
  const json = (title: string, value: unknown) =>
    titled(title, value === null ? '' : JSON.stringify(value, null, 2));
  const { certification } = row;
  return page([
    facts([
      ['connector', `${row.connectorId} ${row.version}`],
      ['name', row.name],
      ['provider', row.provider],
      ['owner', row.tenantId],
      ['state', row.enabled ? row.state : `${row.state}, disabled`],
      ['certification', certification === null ? 'none' : certification.state],
      ['report', row.certificationRef ?? ''],
      ['adapter', row.adapterRef === null ? '' : plain(row.adapterRef)],
      ['release', row.releaseId ?? ''],
      ['artifact', row.artifactDigest ?? ''],
      ['manifest', row.manifestDigest ?? ''],
      ['interfaces', row.capabilities.join(', ')],
      ['capabilities', row.capabilityIds.join(', ')],
      ['profiles', row.profiles.join(', ')],
    ]),
    json('retry', row.retryProfile),
    json('rate limit', row.rateLimitProfile),
    json('webhook scheme', row.webhookScheme),
    json('configuration form', row.configurationForm),
  ]);
}
