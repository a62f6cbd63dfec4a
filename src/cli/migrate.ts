/** `waybill migrate`: brings the database schema up to date. */
import type { Command } from 'commander';
import { surroundings } from './support/environment';
import { printJson, printLine } from './support/output';
import { namingDatabase } from './support/storage';

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('Bring the database schema up to date; all of it or nothing.')
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nNeeds DATABASE_URL of a user that may create roles and a schema.\n' +
        '\nExample:\n  $ DATABASE_URL=postgres://postgres@localhost/waybill waybill migrate\n',
    )
    .action(runMigrate);
}

async function runMigrate({ json }: { readonly json?: true }): Promise<void> {
  const { migrate } = await import('../db/migrations.js');
  const { requireAdminUrl } = await import('../workers/databases.js');
  const { config } = surroundings();
  const url = requireAdminUrl(config);
  const applied = await namingDatabase({ url, variable: 'DATABASE_URL' }, () => migrate(url));
  if (json) {
    printJson({ applied });
    return;
  }
  for (const { version, name } of applied) printLine(`applied ${version} ${name}`);
  if (applied.length === 0) printLine('nothing to do: the schema is up to date');
}
