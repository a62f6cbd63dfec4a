/** `waybill fleet export`: the published catalog as a fleet file. */
import { InvalidArgumentError, type Command } from 'commander';
import { NAME_PATTERN } from '../../domain/ids';

interface ExportOptions {
  readonly tenant?: string;
}

export function addExport(fleet: Command): void {
  fleet
    .command('export')
    .description('Write the published catalog as a fleet file; applying it changes nothing.')
    .option('--tenant <name>', 'only what belongs to this tenant (default: everything)', tenantName)
    .addHelpText(
      'after',
      '\nReads through WAYBILL_CONTROL_DATABASE_URL or DATABASE_URL; beside a running `waybill up`\n' +
        'neither is needed.\n' +
        '\nExample:\n  $ waybill fleet export --tenant acme > acme.yaml\n',
    )
    .action(async ({ tenant }: ExportOptions) => {
      const { exportCatalog } = await import('../support/export-fleet.js');
      await exportCatalog(tenant ?? null);
    });
}

function tenantName(text: string): string {
  if (NAME_PATTERN.test(text)) return text;
  throw new InvalidArgumentError("It is no tenant's name.");
}
