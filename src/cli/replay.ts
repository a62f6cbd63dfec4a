/** `waybill replay`: replaying many failed deliveries as one job. */
import type { Command } from 'commander';
import { addItems } from './replay/items';
import { addList } from './replay/list';
import { addMoves } from './replay/moves';
import { addPlan } from './replay/plan';
import { addRun } from './replay/run';
import { addShow } from './replay/show';
import { addWatch } from './replay/watch';

export function addReplay(program: Command): void {
  const replay = program
    .command('replay')
    .description('Replay many failed deliveries as one job: planned, at a bounded rate.')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nNothing is replayed before `run`. A job goes on without this program; Ctrl-C ends the watching.\n' +
        'One delivery is replayed with `waybill deliveries replay`.\n' +
        '\nExample: after an incident\n' +
        '  $ waybill replay plan --subscription issues --since 6h --reason "target repaired"\n' +
        '  $ waybill replay run <job> --watch\n',
    );
  addPlan(replay);
  addRun(replay);
  addWatch(replay);
  addMoves(replay);
  addShow(replay);
  addItems(replay);
  addList(replay);
}
