/** Temporal is killed with an action under way, and stays away while deliveries of both lanes and an action arrive. */
import { setTimeout as delay } from 'node:timers/promises';
import { LANES } from '../../domain/lanes';
import { statusAndCode } from '../client';
import { of } from '../families/family';
import { AROUND_TEMPORAL } from '../families/deliveries';
import { approvedOnceAsked, approvedWish, ask, observeAction, refOf, stateOf } from './actions';
import { becomes, type CaseContext, type Proof } from './context';
import { countIn, eachIn, eachLane, observeSeveral } from './events';
import { heldByProvider, holds } from './provider-holds';
import { inEachLane, postOnce } from './vendor';

export const temporalOutage: Proof = async (context) => {
  const events = inEachLane('away-1', 'away-2', 'away-3');
  const [kill, away, start] = context.faults;
  const [underWay, arriving] = AROUND_TEMPORAL;
  await bringUnderWay(context, underWay);
  if (kill !== undefined) await context.inflict(kill);
  await holds(context, 'DELETE');
  const answers = new Map(LANES.map((lane) => [lane, [] as string[]]));
  const post = async (label: string) => {
    for (const event of inEachLane(label)) {
      answers.get(event.lane)?.push(statusAndCode(await postOnce(context, event)));
    }
  };
  await post('away-1');
  const approved = approvedOnceAsked(context, refOf(context, 'acme', labelOf(arriving)));
  const answer = await ask(context, { ...approvedWish('acme', labelOf(arriving)), waitMs: 0 });
  context.observe(of(arriving, 'answer to the call'), statusAndCode(answer));
  await post('away-2');
  if (away?.kind === 'away') {
    await context.inflict(away);
    await delay(away.seconds * 1_000);
  }
  await post('away-3');
  const express = events.filter(({ lane }) => lane === 'express');
  // Where they need it they are found to be missing.
  await eachIn(context, express, 'Acknowledged').catch(() => undefined);
  await eachLane(events, async (lane, ofLane) => {
    const acknowledged = await countIn(context, ofLane, 'Acknowledged');
    context.observe(of(lane, 'acknowledged while it was away'), acknowledged);
  });
  if (start !== undefined) await context.inflict(start);
  await eachIn(context, events, 'Acknowledged');
  await eachLane(events, async (lane, ofLane) => {
    context.observe(of(lane, 'answers to the vendor'), answers.get(lane)?.join(' ') ?? '');
    await observeSeveral(context, lane, ofLane);
  });
  await approved;
  for (const name of AROUND_TEMPORAL) {
    const ref = refOf(context, 'acme', labelOf(name));
    await becomes(
      `the action ${name} is completed`,
      async () => (await stateOf(context, ref)) === 'completed',
    );
    await observeAction(context, ref, (what) => of(name, what));
  }
};

/** Its effect is there, and nobody has heard of it yet. */
async function bringUnderWay(context: CaseContext, name: string): Promise<void> {
  await holds(context, 'PUT', { count: 1 });
  const approved = approvedOnceAsked(context, refOf(context, 'acme', labelOf(name)));
  const answer = await ask(context, { ...approvedWish('acme', labelOf(name)), waitMs: 0 });
  context.observe(of(name, 'answer to the call'), statusAndCode(answer));
  await approved;
  await heldByProvider(context);
}

function labelOf(name: string): string {
  return `temporal-${name.replaceAll(' ', '-')}`;
}
