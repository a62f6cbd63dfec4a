/** `waybill up`: everything on this machine, and on request the story that shows it at work. */
import { Option, type Command } from 'commander';
import { PORT_SETTINGS } from '../workers/up/settings';
import type { UpOptions } from './support/run-up';

export function addUp(program: Command): void {
  const ports = Object.values(PORT_SETTINGS).map(({ variable, port }) => `  ${variable}=${port}`);
  program
    .command('up')
    .description('Bring up everything on this machine, until Ctrl-C.')
    .addOption(
      // The story is that of the example's events and targets.
      new Option(
        '--fleet <file>',
        'the fleet file, published at every start (default: examples/fleet.yaml)',
      ).conflicts('story'),
    )
    .option(
      '--story',
      'play the story: real payloads dispatched and replayed, actions lost and found',
    )
    .option('--once', 'stop everything afterwards; exit 0 only if all of it came out as expected')
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nUses DATABASE_URL and TEMPORAL_ADDRESS where they are set, and otherwise starts Postgres and\n' +
        'a Temporal server with its data below WAYBILL_HOME (.waybill).\n' +
        `Ports (0: any free one):\n${ports.join('\n')}\n` +
        '\nExample:\n  $ waybill up --story --once\n',
    )
    .action(async (options: UpOptions) => {
      const { runUp } = await import('./support/run-up.js');
      await runUp(options);
    });
}
