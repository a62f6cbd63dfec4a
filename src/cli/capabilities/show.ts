/** `waybill capabilities show`: one capability with its contract. */
import type { Command } from 'commander';
import type { CapabilityDetail } from '../../schemas/api-capabilities';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printJson, printLine } from '../support/output';
import { facts, page, titled } from '../support/sections';

interface ShowOptions extends ApiOptions {
  readonly unbound?: true;
  readonly json?: true;
}

export function addShow(capabilities: Command): void {
  withApiOptions(
    capabilities
      .command('show')
      .description('Show one capability with its request and result schemas.')
      .argument('<capability>', 'the capability id')
      .option('--unbound', 'also if the tenant has not bound it (scope factory.catalog.internal)')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill capabilities show tickets.create\n')
    .action(show);
}

async function show(capabilityId: string, options: ShowOptions): Promise<void> {
  const api = await openApi(options);
  const unbound = options.unbound ? ('true' as const) : undefined;
  const capability = await api.showCapability(capabilityId, { unbound });
  if (options.json) printJson(capability);
  else printLine(capabilityPage(capability));
}

function capabilityPage(capability: CapabilityDetail): string {
  return page([
    facts([
      ['capability', capability.capabilityId],
      ['interface', capability.interface],
      ['side effect', capability.sideEffect],
      ['recovery', capability.recovery],
      ['profiles', capability.profiles.join(', ')],
      ['bound', capability.bound ? 'yes' : 'no: no binding of the tenant serves it'],
      ['contract', `sha256 ${capability.contractDigest}`],
      ['revision', `${capability.revision} of the catalog`],
    ]),
    titled('request', JSON.stringify(capability.requestSchema, null, 2)),
    titled('result', JSON.stringify(capability.resultSchema, null, 2)),
  ]);
}
