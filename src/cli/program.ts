/** The command line as a whole: every command, and how mistakes in calling one are told. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Command, CommanderError } from 'commander';
import { z } from 'zod';
import { failureLine } from './support/failures';
import { visible } from './support/output';

type Add = (program: Command) => void;

/** In the order of the help. Each is loaded when it is called: together they take half a second. */
const COMMANDS: ReadonlyMap<string, () => Promise<Add>> = new Map([
  ['up', async () => (await import('./up.js')).addUp],
  ['api', async () => (await import('./api.js')).addApi],
  ['worker', async () => (await import('./worker.js')).addWorker],
  ['host', async () => (await import('./host.js')).addHost],
  ['migrate', async () => (await import('./migrate.js')).addMigrate],
  ['apply', async () => (await import('./apply.js')).addApply],
  ['diff', async () => (await import('./diff.js')).addDiff],
  ['deliver', async () => (await import('./deliver.js')).addDeliver],
  ['deliveries', async () => (await import('./deliveries.js')).addDeliveries],
  ['targets', async () => (await import('./targets.js')).addTargets],
  ['subscriptions', async () => (await import('./subscriptions.js')).addSubscriptions],
  ['replay', async () => (await import('./replay.js')).addReplay],
  ['receipt', async () => (await import('./receipt.js')).addReceipt],
  ['scheme', async () => (await import('./scheme.js')).addScheme],
  ['evidence', async () => (await import('./evidence.js')).addEvidence],
  ['actions', async () => (await import('./actions.js')).addActions],
  ['approvals', async () => (await import('./approvals.js')).addApprovals],
  ['conformance', async () => (await import('./conformance.js')).addConformance],
  ['certify', async () => (await import('./certify.js')).addCertify],
  ['connectors', async () => (await import('./connectors.js')).addConnectors],
  ['capabilities', async () => (await import('./capabilities.js')).addCapabilities],
  ['plans', async () => (await import('./plans.js')).addPlans],
  ['routes', async () => (await import('./routes.js')).addRoutes],
  ['recover', async () => (await import('./recover.js')).addRecover],
  ['quotas', async () => (await import('./quotas.js')).addQuotas],
  ['events', async () => (await import('./events.js')).addEvents],
  ['fleet', async () => (await import('./fleet.js')).addFleet],
  ['qualify', async () => (await import('./qualify.js')).addQualify],
  ['demo-receiver', async () => (await import('./demo-receiver.js')).addDemoReceiver],
  ['demo-provider', async () => (await import('./demo-provider.js')).addDemoProvider],
]);

const USAGE_EXIT = 2;
const FAILURE_EXIT = 1;

/**
 * Runs one command line; answers its exit code: 0 done, 1 failed, 2 called in a wrong way, or what
 * the command itself says (`waybill diff`). A failure is one line on standard error, with its code
 * where it has one.
 */
export async function run(args: readonly string[]): Promise<number> {
  const program = await buildProgram(args[0]);
  try {
    if (args.length === 0) program.outputHelp();
    else await program.parseAsync(args, { from: 'user' });
    return ownExit() ?? 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      fail(usageLine(error, program, args));
      return USAGE_EXIT;
    }
    fail(failureLine(error));
    if (process.env['WAYBILL_LOG_LEVEL'] === 'debug' && error instanceof Error) {
      process.stderr.write(`${error.stack ?? ''}\n`);
    }
    return ownExit() ?? FAILURE_EXIT;
  }
}

/** What a command whose exit code is an answer has set. */
function ownExit(): number | null {
  return typeof process.exitCode === 'number' ? process.exitCode : null;
}

/** @param called the first argument: with the name of a command, nothing but that one; else every command */
export async function buildProgram(called?: string): Promise<Command> {
  const program = new Command('waybill')
    .description('A durable router for side effects on Temporal and Postgres.')
    .version(ownVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .exitOverride()
    // Failures are told in one place and in one form.
    .configureOutput({ writeErr: () => undefined });
  const one = COMMANDS.get(called ?? '');
  for (const load of one === undefined ? COMMANDS.values() : [one]) (await load())(program);
  program.addHelpText('after', '\nBring everything up on this machine:\n  $ waybill up --story\n');
  return program;
}

function usageLine(error: CommanderError, program: Command, args: readonly string[]): string {
  const asked = innermost(program, args);
  const help = `see \`${pathOf(asked)} --help\``;
  if (error.code === 'commander.help') {
    const names = asked.commands.map((command) => command.name()).join(', ');
    return `waybill: name a command of \`${pathOf(asked)}\` (${names}); ${help}`;
  }
  const message = error.message
    .replace(/^error: /, '')
    .replace(/\.$/, '')
    .replaceAll(/\s*\n\s*/g, ' ');
  return `waybill: ${message}; ${help}`;
}

/** The command that the arguments lead to, as far as they name known ones. */
function innermost(program: Command, args: readonly string[]): Command {
  let current = program;
  for (const arg of args) {
    const next = current.commands.find((command) => command.name() === arg);
    if (next === undefined) break;
    current = next;
  }
  return current;
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function fail(line: string): void {
  process.stderr.write(`${visible(line)}\n`);
}

function ownVersion(): string {
  const file = path.join(__dirname, '..', '..', 'package.json');
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(file, 'utf8')));
  return version;
}
