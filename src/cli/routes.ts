/** `waybill routes`: where actions went. */
import type { Command } from 'commander';
import { addAudit } from './routes/audit';
import { addAttempts } from './routes/attempts';
import { addList } from './routes/list';
import { addShow } from './routes/show';

export function addRoutes(program: Command): void {
  const routes = program
    .command('routes')
    .description('Find and show where actions went.')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nExample: what a host is busy with\n  $ waybill routes list --replica tracker-1 --open\n',
    );
  addList(routes);
  addShow(routes);
  addAttempts(routes);
  addAudit(routes);
}
