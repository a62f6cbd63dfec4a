/** `waybill demo-provider`: the controlled provider, the product that reference hosts act on. */
import { InvalidArgumentError, type Command } from 'commander';
import { namingPort } from '../workers/naming-port';
import { runUntilAsked } from './support/long-running';

interface ProviderSettings {
  readonly port: string;
  readonly file: string;
  /** Accounts by the token that they are used with. */
  readonly token: Readonly<Record<string, string>>;
}

const HOST = '127.0.0.1';

export function addDemoProvider(program: Command): void {
  program
    .command('demo-provider', { hidden: true })
    .description('Be the product of reference hosts on loopback, and record every effect.')
    .requiredOption('--port <port>', 'the port to listen on')
    .requiredOption('--file <file>', 'its records; made where there are none')
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

async function provide({ port, file, token }: ProviderSettings): Promise<void> {
  const { startProvider } = await import('../hosts/provider/provider.js');
  const { point } = await import('../points.js');
  const listen = { host: HOST, port: Number(port) };
  await runUntilAsked(async () => {
    const provider = await namingPort({ ...listen, setting: '--port' }, () =>
      startProvider({ file, accounts: token, listen, reach: point }),
    );
    process.stdout.write(`${JSON.stringify({ url: provider.url })}\n`);
    return { broken: new Promise<never>(() => undefined), stop: () => provider.stop() };
  });
}
