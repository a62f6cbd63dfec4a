/** `waybill routes audit`: recounts what is reserved, and mends the counters on request. */
import type { Command } from 'commander';

interface AuditOptions {
  readonly repair?: true;
  readonly json?: true;
}

export function addAudit(routes: Command): void {
  routes
    .command('audit')
    .description('Compare every counter with the open attempts; exit code 1 when one differs.')
    .option('--repair', 'mend what differs; may be done while actions run')
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nReads and writes through WAYBILL_OPERATIONS_DATABASE_URL or DATABASE_URL, over all tenants.\n' +
        '\nExample:\n  $ waybill routes audit --repair\n',
    )
    .action(async (options: AuditOptions) => {
      const { auditRoutes } = await import('../support/audit-routes.js');
      await auditRoutes(options);
    });
}
