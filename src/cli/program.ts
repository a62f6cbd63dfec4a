/** The command line as a whole: every command, and how mistakes in calling one are told. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Command, CommanderError } from 'commander';
import { z } from 'zod';
import { addActions } from './actions';
import { addApi } from './api';
import { addApprovals } from './approvals';
import { addApply } from './apply';
import { addCapabilities } from './capabilities';
import { addCertify } from './certify';
import { addConformance } from './conformance';
import { addDeliver } from './deliver';
import { addConnectors } from './connectors';
import { addDeliveries } from './deliveries';
import { addDemoProvider } from './demo-provider';
import { addDemoReceiver } from './demo-receiver';
import { addDiff } from './diff';
import { addEvents } from './events';
import { addEvidence } from './evidence';
import { addHost } from './host';
import { addFleet } from './fleet';
import { addMigrate } from './migrate';
import { addPlans } from './plans';
import { addQualify } from './qualify';
import { addQuotas } from './quotas';
import { addReceipt } from './receipt';
import { addRecover } from './recover';
import { addReplay } from './replay';
import { addRoutes } from './routes';
import { addScheme } from './scheme';
import { failureLine } from './support/failures';
import { visible } from './support/output';
import { addSubscriptions } from './subscriptions';
import { addTargets } from './targets';
import { addUp } from './up';
import { addWorker } from './worker';

const USAGE_EXIT = 2;
const FAILURE_EXIT = 1;

/**
 * Runs one command line; answers its exit code: 0 done, 1 failed, 2 called in a wrong way, or what
 * the command itself says (`waybill diff`). A failure is one line on standard error, with its code
 * where it has one.
 */
export async function run(args: readonly string[]): Promise<number> {
  const program = buildProgram();
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

/** Every command, not yet called. */
export function buildProgram(): Command {
  const program = new Command('waybill')
    .description('A durable router for side effects on Temporal and Postgres.')
    .version(ownVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .exitOverride()
    // Failures are told in one place and in one form.
    .configureOutput({ writeErr: () => undefined });
  addUp(program);
  addApi(program);
  addWorker(program);
  addHost(program);
  addMigrate(program);
  addApply(program);
  addDiff(program);
  addDeliver(program);
  addDeliveries(program);
  addTargets(program);
  addSubscriptions(program);
  addReplay(program);
  addReceipt(program);
  addScheme(program);
  addEvidence(program);
  addActions(program);
  addApprovals(program);
  addConformance(program);
  addCertify(program);
  addConnectors(program);
  addCapabilities(program);
  addPlans(program);
  addRoutes(program);
  addRecover(program);
  addQuotas(program);
  addEvents(program);
  addFleet(program);
  addQualify(program);
  addDemoReceiver(program);
  addDemoProvider(program);
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
