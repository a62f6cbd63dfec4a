/** Random faults while work goes on, and the ledger when everything is mended. */
import { FILES } from '../evidence/records';
import { WORKERS } from '../site/topology';
import { inflictInTime } from '../soak/faults-in-time';
import type { Soak, TimedFault } from '../soak/schedule';
import { workFor } from '../soak/work';
import { becomes, type Proof } from './context';
import { targetRecords } from './vendor';

/** On a busy machine, after the last fault. */
const SETTLING_MS = 420_000;

export const soak: Proof = async (context) => {
  const { site, judge } = context;
  const plan = context.soak;
  if (plan === null) throw new Error('it is planned without a seed');
  for (const name of WORKERS) {
    await site.process(name).stop();
    site.node(name).useClock();
    await site.process(name).start();
  }
  const faults = context.faults as readonly TimedFault[];
  const [work] = await Promise.all([workFor(context, plan), inflictInTime(context, faults)]);
  const accepted = { actions: work.actions.length, events: work.events.length };
  context.keep(FILES.work, { ...work });
  await becomes(
    'nothing is under way',
    async () => (await judge.underWay().catch(() => 1)) === 0,
    SETTLING_MS,
  ).catch(() => undefined);
  context.observe('work was accepted throughout', isEnough(plan, work.asked, accepted));
  const ledger = await judge.ledger(work, await targetRecords(context));
  context.keep(FILES.ledger, ledger);
  context.keep('soak/totals.json', await judge.totals());
  for (const [what, found] of Object.entries<number>({ ...ledger })) context.observe(what, found);
};

/** Whether the soak was one: most of what was asked for was accepted in the end. */
function isEnough(
  { durationMs }: Soak,
  asked: number,
  accepted: { readonly actions: number; readonly events: number },
): boolean {
  const least = Math.min(accepted.actions, accepted.events);
  return asked >= durationMs / 5_000 && least >= asked * 0.9;
}
