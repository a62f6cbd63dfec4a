/** `waybill recover`: after the database was restored from a backup. */
import { Option, type Command } from 'commander';
import type { RecoverOptions } from './support/recover-deployment';

export function addRecover(program: Command): void {
  program
    .command('recover')
    .description('Show where a recovery stands, begin one after a restore, or release it.')
    .addOption(
      new Option(
        '--after-restore',
        'hold reserving and sending, and take up what the rows have lost; API and workers are down',
      ).conflicts('release'),
    )
    .option('--release', 'let reserving and sending go on')
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nReads and writes through WAYBILL_OPERATIONS_DATABASE_URL or DATABASE_URL, and asks the Temporal\n' +
        'server (TEMPORAL_ADDRESS and the like) what it remembers. See docs/operations.md, Restore.\n' +
        '\nExample:\n  $ waybill recover --after-restore\n',
    )
    .action(async (options: RecoverOptions) => {
      const { recoverDeployment } = await import('./support/recover-deployment.js');
      await recoverDeployment(options);
    });
}
