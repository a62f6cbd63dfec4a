/** `waybill apply`: publishes a fleet file as one revision of the catalog. */
import type { Command } from 'commander';
import type { FleetFileOptions } from './support/fleet-files';

export function addApply(program: Command): void {
  program
    .command('apply')
    .description('Publish a fleet file: what differs becomes one revision, or nothing is applied.')
    .requiredOption('-f, --file <file>', 'the fleet file (YAML); - reads standard input')
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nWrites through WAYBILL_CONTROL_DATABASE_URL or DATABASE_URL; beside a running `waybill up`\n' +
        'neither is needed. With a token alone, POST the file to /v1/fleet/apply of the API.\n' +
        '\nExample:\n  $ waybill apply -f examples/fleet.yaml\n',
    )
    .action(async (options: FleetFileOptions) => {
      const { applyFleet } = await import('./support/apply-fleet.js');
      await applyFleet(options);
    });
}
