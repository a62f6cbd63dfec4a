/** `waybill host`: the reference connector host as a process. */
import { Option, type Command } from 'commander';
import { WaybillError } from '../domain/errors';
import { didOfKey } from '../hosts/protocol/did-key';
import { parseConfig, type Config } from '../schemas/config';
import { makeKey } from './support/keys';
import { hostSettings, type HostSettings } from './host/settings';
import { hostLog } from './host/log';
import { runUntilAsked } from './support/long-running';
import { namingPort } from './support/ports';

/** `[flags, variable, description, default]`; an option wins over its variable. */
const OPTIONS: readonly (readonly [string, string, string, string?])[] = [
  ['--replica <id>', 'WAYBILL_HOST_REPLICA', 'the replica that this process is'],
  ['--tenant <id>', 'WAYBILL_HOST_TENANT', 'whose instance it serves'],
  ['--connector <id>', 'WAYBILL_HOST_CONNECTOR', 'the connector'],
  ['--connector-version <version>', 'WAYBILL_HOST_CONNECTOR_VERSION', 'its version'],
  ['--instance <id>', 'WAYBILL_HOST_INSTANCE', 'the instance'],
  ['--credentials <revisions>', 'WAYBILL_HOST_CREDENTIALS', 'usable revisions, by commas'],
  ['--key <reference>', 'WAYBILL_HOST_KEY', 'its private key: env:NAME or file:PATH'],
  ['--store <file>', 'WAYBILL_HOST_STORE', 'its memory of actions; made where there is none'],
  [
    ...(['--lifecycle <url>', 'WAYBILL_HOST_LIFECYCLE_URL', 'where it registers'] as const),
    'http://127.0.0.1:7380',
  ],
  ['--heartbeat <duration>', 'WAYBILL_HOST_HEARTBEAT', 'how often it renews its lease', '10s'],
  ['--provider <url>', 'WAYBILL_HOST_PROVIDER_URL', 'the product that it acts on'],
  ['--provider-token <reference>', 'WAYBILL_HOST_PROVIDER_TOKEN', 'the token for it, a reference'],
  [
    ...(['--provider-timeout <duration>', 'WAYBILL_HOST_PROVIDER_TIMEOUT'] as const),
    ...(['how long a call to it may take', '10s'] as const),
  ],
  [
    ...(['--listen <address>', 'WAYBILL_HOST_LISTEN', 'where it serves, host:port'] as const),
    '127.0.0.1:7390',
  ],
];

export function addHost(program: Command): void {
  const command = program
    .command('host')
    .description('Serve the reference connector as one replica until SIGTERM or Ctrl-C.')
    .option('--new-key <file>', 'make a private key in this file, print its DID, and end');
  for (const [flags, variable, description, preset] of OPTIONS) {
    const option = new Option(flags, description).env(variable);
    command.addOption(preset === undefined ? option : option.default(preset));
  }
  command
    .addHelpText(
      'after',
      '\nOn SIGTERM it drains, waits up to WAYBILL_SHUTDOWN_GRACE for what is open, and goes offline.\n' +
        '\nExample: its key, and the host itself\n' +
        '  $ waybill host --new-key host-1.jwk\n' +
        '  $ waybill host --replica acme-tickets-1 --tenant acme --connector tickets \\\n' +
        '      --connector-version 1.0.0 --instance acme-tickets --credentials 7 \\\n' +
        '      --key file:host-1.jwk --store host-1.sqlite \\\n' +
        '      --provider http://127.0.0.1:7301 --provider-token env:PROVIDER_TOKEN\n',
    )
    .action(serve);
}

async function serve(options: Readonly<Record<string, string>>): Promise<void> {
  const { newKey, ...given } = options;
  if (newKey !== undefined) {
    process.stdout.write(`${didOfKey((await makeKey(newKey, '--new-key')).x)}\n`);
    return;
  }
  const config = parseConfig(process.env);
  const settings = await hostSettings(given, config);
  await runUntilAsked(() => start(config, settings));
}

async function start(
  config: Config,
  settings: HostSettings,
): Promise<{ readonly broken: Promise<never>; stop(): Promise<void> }> {
  const { startReferenceHost } = await import('../hosts/reference/host.js');
  const { point } = await import('../points.js');
  const log = hostLog(config.logLevel, settings.identity.replicaId);
  const host = await namingPort({ ...settings.listen, setting: '--listen' }, () =>
    startReferenceHost({
      ...settings,
      reach: point,
      failed: (error) => {
        log.warn({ err: error instanceof Error ? error.message : String(error) }, 'host trouble');
      },
    }),
  );
  const { url, did, manifestDigest, storeEpoch } = host;
  log.info({ url, did, manifestDigest, storeEpoch }, 'host started');
  return {
    broken: superseded(host.superseded),
    stop: async () => {
      log.info('stopping');
      await host.retire(config.temporal.shutdownGraceMs);
    },
  };
}

/** Rejects when another process has taken the place. */
function superseded(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(
        new WaybillError('host_turned_away', 'another process has registered as this replica'),
      );
    });
  });
}
