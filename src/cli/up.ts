/** `waybill up`: everything on this machine, and on request the story that shows it at work. */
import path from 'node:path';
import { Option, type Command } from 'commander';
import { EXAMPLE_FLEET } from '../workers/up/fleet';
import { PORT_SETTINGS } from '../workers/up/settings';
import { bringUp, type RunningUp } from '../workers/up/up';
import { CommandFailure } from './support/failures';
import { printLine } from './support/output';
import { aborted, endRequested } from './support/signals';
import { addressLines, tellStory } from './support/story-report';
import { namingDatabase } from './support/storage';

interface UpOptions {
  readonly story?: true;
  readonly once?: true;
  readonly fleet?: string;
  readonly json?: true;
}

export function addUp(program: Command): void {
  const ports = Object.values(PORT_SETTINGS).map(({ variable, port }) => `${variable}=${port}`);
  program
    .command('up')
    .description('Bring up everything on this machine, until Ctrl-C.')
    .addOption(
      // The story is that of the example's events and targets.
      new Option(
        '--fleet <file>',
        'the fleet file to publish (default: examples/fleet.yaml)',
      ).conflicts('story'),
    )
    .option('--story', 'play the story: real payloads received, dispatched, failed and replayed')
    .option('--once', 'stop everything afterwards; exit 0 only if all of it came out as expected')
    .option('--json', 'with --story: its lines as JSON')
    .addHelpText(
      'after',
      '\nUses DATABASE_URL and TEMPORAL_ADDRESS where they are set, and otherwise starts Postgres and\n' +
        'a Temporal server with its data below WAYBILL_HOME (.waybill).\n' +
        `Ports (0: any free one): ${ports.slice(0, 3).join(', ')},\n${ports.slice(3).join(', ')}.\n` +
        '\nExample:\n  $ waybill up --story --once\n',
    )
    .action(up);
}

async function up(options: UpOptions): Promise<void> {
  const { progressSteps } = await import('./support/progress.js');
  const signal = endRequested();
  const runSteps = progressSteps();
  const { loadPayloads } = await import('../demo/payloads.js');
  // Known before anything is fetched or started.
  const payloads = options.story ? await loadPayloads() : null;
  const fleetFile = options.fleet === undefined ? EXAMPLE_FLEET : path.resolve(options.fleet);
  const running = await namingDatabase(process.env['DATABASE_URL'] ?? null, () =>
    bringUp({ environment: process.env, ...{ fleetFile, runSteps, signal } }),
  ).catch((error: unknown) => {
    throw signal.aborted ? interrupted() : error;
  });
  const story: { asExpected: boolean | null } = { asExpected: null };
  await untilStopped(running, signal, async (over) => {
    if (payloads === null) printLine(addressLines(running).join('\n'));
    else {
      const json = options.json === true;
      story.asExpected = await tellStory({ running, payloads, runSteps, json, signal: over });
    }
    if (!options.once) await aborted(signal);
  });
  if (story.asExpected === false) {
    throw new CommandFailure('story_failed', 'not every line of the story came out as expected');
  }
  if (payloads !== null && options.once && story.asExpected === null) throw interrupted();
}

/** Ends with the work, with a signal, or with the loss of a process; then everything is stopped. */
async function untilStopped(
  running: RunningUp,
  signal: AbortSignal,
  work: (over: AbortSignal) => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([work(over.signal), running.lost, aborted(signal)]);
  } finally {
    over.abort();
    process.stderr.write('stopping …\n');
    await running.stop();
  }
}

function interrupted(): CommandFailure {
  return new CommandFailure('interrupted', 'stopped before the end; nothing runs on');
}
