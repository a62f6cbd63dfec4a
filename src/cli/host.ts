/** `waybill host`: the reference connector host as a process. */
import { Option, type Command } from 'commander';
import type { WaybillError } from '../domain/errors';
import { didOfKey } from '../signing/did-key';
import { parseConfig, type Config } from '../schemas/config';
import { namingPort } from '../workers/naming-port';
import { makeKey } from './support/keys';
import { hostSettings, type HostSettings } from './host/settings';
import { hostLog } from './host/log';
import { OPTIONS, namedOption } from './host/options';
import { runUntilAsked } from './support/long-running';

export function addHost(program: Command): void {
  const command = program
    .command('host')
    .description('Serve the reference connector as one replica until SIGTERM or Ctrl-C.')
    .option('--new-key <file>', 'make a private key in this file, print its DID, and end');
  for (const [flags, variable, description, preset] of OPTIONS) {
    // Set but empty counts as not set; the parser would take the empty text.
    if (process.env[variable] === '') Reflect.deleteProperty(process.env, variable);
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
  const host = await namingPort({ ...settings.listen, setting: namedOption('listen') }, () =>
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

/** Rejects with the reason when another process has taken the place, or the replica is gone. */
function superseded(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as WaybillError);
    });
  });
}
