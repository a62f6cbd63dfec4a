/** `waybill scheme try`: why a captured request passes or fails. */
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { parseConfig } from '../../schemas/config';
import type { WebhookSecret } from '../../signing/webhooks/secrets';
import { printJson, printLine } from '../support/output';
import { facts } from '../support/sections';

const REFUSED_EXIT = 1;

interface TryOptions {
  readonly scheme: string;
  readonly secretRef: readonly string[];
  readonly request: string;
  readonly publicUrl?: string;
  readonly setting: Readonly<Record<string, string>>;
  readonly at?: number;
  readonly json?: true;
}

export function addTry(scheme: Command): void {
  scheme
    .command('try')
    .description('Explain step by step why a captured request passes or fails. Stores nothing.')
    .requiredOption('--scheme <scheme>', 'a name of `waybill scheme list`, or the path of a file')
    .requiredOption('--secret-ref <ref...>', 'where the secret is: env:NAME or file:PATH')
    .requiredOption('--request <file>', 'the request as it went over the wire, or as JSON')
    .option('--public-url <url>', 'what stands before the path (default: WAYBILL_PUBLIC_URL)')
    .option('--setting <name=value>', 'a setting of the connection', setting, {})
    .option('--at <instant>', 'judge as of this receipt, such as 2026-01-31T12:00:00Z', instant)
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nExit code: 0 when it passes, 1 when it does not. The secret is never printed.\n' +
        '\nExample:\n' +
        '  $ waybill scheme try --scheme github --secret-ref env:HOOK_SECRET --request captured.txt\n',
    )
    .action(tryRequest);
}

async function tryRequest(options: TryOptions): Promise<void> {
  const { explain } = await import('../../signing/webhooks/explain.js');
  const { inputBytes, namedScheme } = await import('./named.js');
  const { readCaptured } = await import('./captured.js');
  const scheme = await namedScheme(options.scheme);
  const publicUrl = options.publicUrl ?? parseConfig(process.env).http.publicUrl;
  const captured = readCaptured(await inputBytes(options.request), publicUrl);
  const request = { ...captured, settings: { ...captured.settings, ...options.setting } };
  const secrets = await readSecrets(options.secretRef);
  const explanation = await explain(scheme, request, secrets, options.at ?? Date.now());
  const { outcome, reason, steps, hints } = explanation;
  if (options.json) printJson(explanation);
  else {
    printLine(facts(steps.map(({ step, found }) => [step, found])));
    for (const hint of hints) printLine(`hint: ${hint}`);
    printLine(`\n${outcome}${reason === null ? '' : `: ${reason}`}`);
  }
  if (outcome === 'refused') process.exitCode = REFUSED_EXIT;
}

async function readSecrets(refs: readonly string[]): Promise<WebhookSecret[]> {
  const { referencedSecrets } = await import('../../secrets/references.js');
  const { unreadable } = await import('./named.js');
  const provider = referencedSecrets({ env: process.env, baseDir: process.cwd() });
  const secrets: WebhookSecret[] = [];
  for (const ref of refs) {
    try {
      secrets.push({ id: ref, value: (await provider.resolve(ref)).value.reveal() });
    } catch (error) {
      throw unreadable(error instanceof Error ? error.message : 'a secret cannot be read');
    }
  }
  return secrets;
}

function setting(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Write a setting as name=value.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

function instant(text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms) || !/^\d{4}-/.test(text)) {
    throw new InvalidArgumentError('Write an instant such as 2026-01-31T12:00:00Z.');
  }
  return ms;
}
