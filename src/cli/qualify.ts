/** `waybill qualify`: the failure matrix on a deployment of its own, and the check of its evidence. */
import { InvalidArgumentError, type Command } from 'commander';
import { SEEDS } from '../qualification/soak/random';
import { addVerifyEvidence } from './qualify/verify';
import { CommandFailure } from './support/failures';
import { parseDuration } from './support/instants';
import { printJson, printLine } from './support/output';
import { endRequested } from './support/signals';

interface QualifyOptions {
  readonly evidence?: string;
  readonly case?: readonly string[];
  readonly reduced?: true;
  readonly soak?: number;
  readonly seed?: number;
  readonly json?: true;
}

export function addQualify(program: Command): void {
  const qualify = program
    .command('qualify')
    .description('Break a deployment of its own in every known way, and prove what is left of it.')
    .option('--evidence <folder>', 'where the evidence goes; empty, or not there yet')
    .option(
      '--case <name>',
      'this family of faults, and what it needs before it; may be repeated',
      (name: string, before: readonly string[] | undefined) => [...(before ?? []), name],
    )
    .option('--reduced', 'the few that everything rests on, in about a minute')
    .option('--soak <time>', 'random faults for so long instead, such as 10m', parseDuration)
    .option(
      '--seed <number>',
      'what they follow from; without it a new one, which is printed',
      seedIn,
    )
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nStarts servers and processes of its own on free ports of this machine and uses no other; all of\n' +
        'them have ended when it ends. Takes about ten minutes.\n' +
        '\nExample: a run, and the check of what it left\n' +
        '  $ waybill qualify --evidence qualification-1\n' +
        '  $ waybill qualify verify qualification-1\n' +
        '\nExample: ten minutes of random faults, the same as with this seed before\n' +
        '  $ waybill qualify --evidence soak-1 --soak 10m --seed 7\n',
    )
    .action(run);
  addVerifyEvidence(qualify);
}

async function run(options: QualifyOptions): Promise<void> {
  const { WaybillError } = await import('../domain/errors.js');
  const { evidence: folder, json = false } = options;
  if (folder === undefined) {
    throw new WaybillError('config_invalid', '--evidence: name a folder for the evidence', {
      field: '--evidence',
    });
  }
  const { planOf } = await import('../qualification/plan.js');
  const { case: cases = [], reduced = false, soak: soakMs, seed } = options;
  const plan = planOf({ cases, reduced, soakMs, seed });
  if (plan.soak !== null) process.stderr.write(`seed ${plan.soak.seed}\n`);
  const { qualify } = await import('../qualification/run.js');
  const signal = endRequested();
  const { summary, digest } = await qualify({
    ...{ folder, signal, plan },
    tell: (line) => process.stderr.write(`${line}\n`),
  });
  if (json) printJson({ ...summary, digest });
  else {
    printLine(`${summary.status}: ${summary.cases.passed} of ${summary.cases.planned} cases`);
    if (plan.soak !== null) printLine(`seed ${plan.soak.seed}`);
    printLine(`evidence ${folder}, sha256 ${digest}`);
  }
  if (signal.aborted) {
    throw new CommandFailure('interrupted', 'stopped before the end; nothing runs on');
  }
  if (summary.status === 'passed') return;
  throw new CommandFailure('qualification_failed', summary.failures.join('; '));
}

function seedIn(text: string): number {
  const seed = Number(text);
  if (/^\d{1,10}$/.test(text) && seed < SEEDS) return seed;
  throw new InvalidArgumentError(`Write a whole number from 0 to ${SEEDS - 1}.`);
}
