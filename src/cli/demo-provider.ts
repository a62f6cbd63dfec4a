/** `waybill demo-provider`: the controlled provider, the product that reference hosts act on. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { WaybillError } from '../domain/errors';
import type { EffectLedger } from '../hosts/provider/ledger';
import { namingPort } from '../workers/naming-port';
import { surroundings } from './support/environment';
import { runUntilAsked } from './support/long-running';

interface ProviderSettings {
  readonly port: string;
  readonly file?: string;
  /** A reference to the URL. */
  readonly database?: string;
  /** Accounts by the token that they are used with. */
  readonly token: Readonly<Record<string, string>>;
}

const HOST = '127.0.0.1';

export function addDemoProvider(program: Command): void {
  program
    .command('demo-provider', { hidden: true })
    .description('Be the product of reference hosts on loopback, and record every effect.')
    .requiredOption('--port <port>', 'the port to listen on')
    .option('--file <file>', 'its records; made where there are none')
    .addOption(
      new Option(
        '--database <reference>',
        'its records in Postgres: env:NAME or file:PATH of the URL',
      ).conflicts('file'),
    )
    .requiredOption(
      '--token <account=token>',
      'an account and its token; may be repeated',
      addToken,
    )
    .addHelpText(
      'after',
      '\nWhat happened is told, without a token, at /control/audit.\n' +
        '\nExample:\n  $ waybill demo-provider --port 7301 --file provider.sqlite --token acme=secret\n',
    )
    .action(provide);
}

function addToken(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const [account = '', ...rest] = text.split('=');
  const token = rest.join('=');
  if (account === '' || token === '') throw new InvalidArgumentError('Write account=token.');
  return { ...before, [token]: account };
}

async function provide(settings: ProviderSettings): Promise<void> {
  const { serveProvider } = await import('../hosts/provider/provider.js');
  const { point } = await import('../points.js');
  const listen = { host: HOST, port: Number(settings.port) };
  const ledger = await ledgerOf(settings);
  await runUntilAsked(async () => {
    const provider = await namingPort({ ...listen, setting: '--port' }, () =>
      serveProvider(ledger, { accounts: settings.token, listen, reach: point }),
    );
    process.stdout.write(`${JSON.stringify({ url: provider.url })}\n`);
    return { broken: new Promise<never>(() => undefined), stop: () => provider.stop() };
  });
}

async function ledgerOf({ file, database }: ProviderSettings): Promise<EffectLedger> {
  if (file !== undefined) {
    const { Ledger } = await import('../hosts/provider/ledger.js');
    return new Ledger(file);
  }
  if (database === undefined) throw new WaybillError('config_invalid', 'set --file or --database');
  const { postgresLedger } = await import('../qualification/provider/postgres-ledger.js');
  const { poolOf } = await import('../qualification/site/databases.js');
  const { processSecrets } = await import('../workers/secrets.js');
  const { value } = await processSecrets(surroundings().config).resolve(database);
  return await postgresLedger(poolOf(value.reveal(), 'controlled-provider', 5));
}
