/** `npm run bench`: measures what is asked for, prints it, and exits 1 when a figure is void. */
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { printJson, printLine, terminalWidth } from '../src/cli/support/output';
import { endRequested } from '../src/cli/support/signals';
import { isBalanced, type Benchmark, type Figure } from './benchmark';
import { startEnvironment } from './environment';
import { BENCHMARKS, chosenBenchmarks } from './registry';
import { answerOf, notesOf, tableOf } from './report';
import { MEANINGFUL_ROUNDS } from './rounds';

const MAX_ROUNDS = 50;
const INTERRUPTED_EXIT = 130;

interface Options {
  readonly json?: true;
  readonly rounds: number;
}

async function main(args: readonly string[]): Promise<number> {
  let exitCode = 0;
  const program = new Command('npm run bench --')
    .description('Measure ratios against baselines of the same run, on loopback.')
    .argument('[ids...]', 'which ones; without any, all of them')
    .option('--json', 'print one JSON array and nothing else on standard output')
    .option('--rounds <n>', 'interleaved rounds of each', parseRounds, MEANINGFUL_ROUNDS)
    .addHelpText('after', `\n${BENCHMARKS.map(({ id, what }) => `  ${id}  ${what}`).join('\n')}\n`)
    .exitOverride()
    .action(async (ids: readonly string[], options: Options) => {
      exitCode = await benchmark(chosenBenchmarks(ids), options);
    });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    progress(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

function parseRounds(text: string): number {
  const rounds = Number(text);
  if (Number.isInteger(rounds) && rounds >= 1 && rounds <= MAX_ROUNDS) return rounds;
  throw new InvalidArgumentError(`It takes 1 to ${MAX_ROUNDS}.`);
}

async function benchmark(chosen: readonly Benchmark[], options: Options): Promise<number> {
  const { signal, failed, figures, durability } = await measure(chosen, options.rounds);
  const warnings = [
    `Durability: ${durability}.`,
    ...(options.rounds < MEANINGFUL_ROUNDS ? ['Too few rounds: not figures to keep.'] : []),
  ];
  if (options.json === true) {
    printJson(figures.map(answerOf));
    for (const line of [...notesOf(figures), ...warnings]) progress(line);
  } else {
    if (figures.length > 0) printLine(tableOf(figures, terminalWidth()));
    for (const line of warnings) printLine(line);
  }
  if (signal.aborted) return INTERRUPTED_EXIT;
  return failed || !figures.every(isBalanced) ? 1 : 0;
}

interface Measured {
  readonly signal: AbortSignal;
  readonly failed: boolean;
  readonly figures: readonly Figure[];
  readonly durability: string;
}

/** Runs them one after the other; one that fails does not keep the others from their turn. */
async function measure(chosen: readonly Benchmark[], rounds: number): Promise<Measured> {
  const signal = endRequested();
  progress('starting the servers');
  const environment = await startEnvironment(progress);
  const { durability } = environment;
  const figures: Figure[] = [];
  let failed = false;
  try {
    for (const { id, run } of chosen) {
      signal.throwIfAborted();
      try {
        figures.push(...(await run({ environment, rounds, signal, progress })));
      } catch (error) {
        signal.throwIfAborted();
        failed = true;
        progress(`${id} failed: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    return { signal, failed, figures, durability };
  } catch (error) {
    if (!signal.aborted) throw error;
    return { signal, failed: true, figures, durability };
  } finally {
    await environment.stop();
  }
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

void main(process.argv.slice(2)).then((exitCode) => {
  // A connection that is still open must not keep the program.
  process.exit(exitCode);
});
