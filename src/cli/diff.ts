/** `waybill diff`: what publishing a fleet file would change. */
import type { Command } from 'commander';
import type { FleetFileOptions } from './support/fleet-files';

const DIFFERS_EXIT = 1;
const FAILURE_EXIT = 2;

export function addDiff(program: Command): void {
  program
    .command('diff')
    .description('Show what `waybill apply` would change, and publish nothing.')
    .requiredOption('-f, --file <file>', 'the fleet file (YAML); - reads standard input')
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nExit code: 0 when nothing differs, 1 when something does, 2 when it cannot be told.\n' +
        'Reads through WAYBILL_CONTROL_DATABASE_URL or DATABASE_URL; beside a running `waybill up`\n' +
        'neither is needed.\n' +
        '\nExample:\n  $ waybill diff -f examples/fleet.yaml\n',
    )
    .action(diff);
}

async function diff(options: FleetFileOptions): Promise<void> {
  // As `diff` and `git diff --exit-code` have it: a failure is no difference.
  process.exitCode = FAILURE_EXIT;
  const { showDifference } = await import('./support/apply-fleet.js');
  process.exitCode = (await showDifference(options)) ? DIFFERS_EXIT : 0;
}
