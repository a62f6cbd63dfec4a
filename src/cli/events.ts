/** `waybill events`: the feed of events, and the sinks they are sent to. */
import type { Command } from 'commander';
import { addFollow } from './events/follow';
import { addList } from './events/list';
import { addSinks } from './events/sinks';

export function addEvents(program: Command): void {
  const events = program
    .command('events')
    .description('Read the events of the tenant, and see how their sinks fare.')
    .helpCommand(false)
    .addHelpText('after', '\nExample: what happens from now on\n  $ waybill events follow\n');
  addList(events);
  addFollow(events);
  addSinks(events);
}
