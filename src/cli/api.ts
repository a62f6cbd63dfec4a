/** `waybill api`: the HTTP server. */
import { InvalidArgumentError, type Command } from 'commander';
import { surroundings } from './support/environment';
import { runUntilAsked } from './support/long-running';
import { namingDatabase } from './support/storage';

const PARTS = ['api', 'ingress', 'lifecycle', 'admin', 'grpc'] as const;
/** A port more is opened for those alone who ask for it. */
const DEFAULT_PARTS: readonly Part[] = ['api', 'ingress', 'lifecycle', 'admin'];
type Part = (typeof PARTS)[number];

export function addApi(program: Command): void {
  program
    .command('api')
    .description(
      'Serve API, ingress, lifecycle of hosts and changes of the catalog over HTTP, and gRPC, until ' +
        'SIGTERM or Ctrl-C.',
    )
    .option(
      '--serve <parts>',
      'which parts to serve, separated by commas: api, ingress, lifecycle, admin, grpc',
      parseParts,
      [...DEFAULT_PARTS],
    )
    .addHelpText(
      'after',
      '\nListens on WAYBILL_HOST and WAYBILL_PORT (127.0.0.1:7380); gRPC on WAYBILL_GRPC_PORT (7383).\n' +
        '\nExample: receive webhooks only, behind a balancer of its own\n' +
        '  $ waybill api --serve ingress\n',
    )
    .action(serve);
}

function parseParts(text: string): Part[] {
  const names = text.split(',').map((name) => name.trim());
  const parts = PARTS.filter((part) => names.includes(part));
  if (parts.length !== new Set(names).size) {
    throw new InvalidArgumentError(`It takes ${PARTS.join(', ')}.`);
  }
  return parts;
}

async function serve({ serve: parts }: { readonly serve: readonly Part[] }): Promise<void> {
  const { config } = surroundings();
  const { createLogger } = await import('../workers/logging.js');
  const { databaseSetting } = await import('../workers/databases.js');
  const { startApi } = await import('../workers/api-process.js');
  const log = createLogger(config.logLevel, 'waybill-api');
  await runUntilAsked(async () => {
    const served = {
      api: parts.includes('api'),
      ingress: parts.includes('ingress'),
      lifecycle: parts.includes('lifecycle'),
      admin: parts.includes('admin'),
      grpc: parts.includes('grpc'),
    };
    const data = served.api || served.ingress || served.admin || served.grpc;
    const role = data ? 'waybill_data' : 'waybill_lifecycle';
    const api = await namingDatabase(databaseSetting(config, role), () =>
      startApi(config, { serve: served }, log),
    );
    return {
      // A server breaks at its start or not at all.
      broken: new Promise<never>(() => undefined),
      stop: async () => {
        log.info('stopping');
        await api.stop();
      },
    };
  });
}
