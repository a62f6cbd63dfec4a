/** Random faults while work goes on, and the ledger when everything is mended. */
import { FILES } from '../evidence/records';
import { GATEWAYS, subscriptionOf, WORKERS } from '../site/topology';
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
  for (const name of [...WORKERS, ...GATEWAYS]) {
    await site.process(name).stop();
    site.node(name).useClock();
    await site.process(name).start();
  }
  const faults = context.faults as readonly TimedFault[];
  const [work] = await Promise.all([workFor(context, plan), inflictInTime(context, faults)]);
  const accepted = [work.actions, ...Object.values(work.events)].map((some) => some.length);
  context.keep(FILES.work, { ...work });
  await becomes(
    'nothing is under way',
    async () => (await judge.underWay().catch(() => 1)) === 0,
    SETTLING_MS,
  ).catch(() => undefined);
  context.observe('work was accepted throughout', isEnough(plan, work.asked, accepted));
  const { all, byLoop } = await judge.expressFirsts();
  context.observe(
    'most deliveries of the express lane were driven by its loop',
    byLoop > 0 && byLoop >= all * 0.9,
  );
  context.observe(
    'lanes of the subscription that changed it',
    await judge.lanesOf(subscriptionOf('switched')),
  );
  const ledger = await judge.ledger(work, await targetRecords(context));
  context.keep(FILES.ledger, ledger);
  context.keep('soak/totals.json', await judge.totals());
  for (const [what, found] of Object.entries<number>({ ...ledger })) context.observe(what, found);
};

/** Whether the soak was one: most of what was asked for was accepted in the end, of each kind and lane. */
function isEnough({ durationMs }: Soak, asked: number, accepted: readonly number[]): boolean {
  return asked >= durationMs / 5_000 && Math.min(...accepted) >= asked * 0.9;
}
