/** The way between a worker and a host is not to be trusted. */
import { z } from 'zod';
import { localUrl } from '../site/plans';
import { outcomeIn, sendToHost, type Asked } from '../site/link';
import type { HostName } from '../site/topology';
import { approvedWish, askApproved, factsOf, observeRecords, refOf, type Wish } from './actions';
import type { CaseContext, Proof } from './context';

const HOST = 'host-globex-tickets-1';

const Evidence = z.looseObject({ reason: z.string().optional() });

export const lostAnswer: Proof = async (context) => {
  await onTheLink(context, 'lost-answer');
};

export const cutAnswer: Proof = async (context) => {
  await onTheLink(context, 'cut-answer');
};

export const slowAnswer: Proof = async (context) => {
  await onTheLink(context, 'slow-answer');
};

export const foreignKey: Proof = async (context) => {
  await onTheLink(context, 'foreign-key');
  const [first] = await context.judge.attempts(refOf(context, 'globex', 'foreign-key'));
  const evidence = Evidence.safeParse(first?.evidence);
  context.observe('why it is not believed', evidence.data?.reason ?? 'unknown');
};

/** The request that was held back reaches the host when the action is over. */
export const lateRequest: Proof = async (context) => {
  await onTheLink(context, 'late-request');
  const late = context.site.link.asked('PUT', context.actionId('late-request'));
  context.observe('answer to the late request', await answerOf(context, HOST, late));
  await judged(context, 'late-request');
};

export const replayedToken: Proof = async (context) => {
  const { tenant, label } = wishOf('replayed-token');
  await askApproved(context, wishOf('replayed-token'));
  const used = context.site.link.asked('PUT', context.actionId(label));
  const again = { ...used, body: Buffer.from(JSON.stringify({ title: 'Another title' })) };
  for (const fault of context.faults) {
    if (fault.kind !== 'token-replayed') continue;
    await context.inflict(fault);
    const isSame = fault.to === HOST;
    // At its own host with its own body: the token alone is what is used twice.
    const answer = await answerOf(context, fault.to as HostName, isSame ? used : again);
    context.observe(`answer of ${isSame ? 'the same' : 'another'} host`, answer);
  }
  await observeRecords(context, refOf(context, tenant, label));
};

/** An action whose first request meets the conduct, to its end. */
async function onTheLink(context: CaseContext, label: string): Promise<void> {
  for (const fault of context.faults) {
    await context.inflict(fault);
  }
  await askApproved(context, wishOf(label));
  const attempts = await context.judge.attempts(refOf(context, 'globex', label));
  context.observe('settlement of the first attempt', attempts[0]?.settlement ?? 'open');
  await judged(context, label);
}

async function judged(context: CaseContext, label: string): Promise<void> {
  const ref = refOf(context, 'globex', label);
  const facts = await factsOf(context, ref);
  context.observe('state', facts.state);
  context.observe('open attempts', facts.openAttempts);
  await observeRecords(context, ref);
}

function wishOf(label: string): Wish {
  return approvedWish('globex', label, `By way of ${label}`);
}

/** What the host says by its own key to a request that was seen before. */
async function answerOf({ site }: CaseContext, host: HostName, asked: Asked): Promise<string> {
  const reply = await sendToHost(localUrl(site.ports, host), asked);
  const outcome = await outcomeIn(reply, site.keys.hosts[host].did);
  return outcome ?? `${reply.status}, not signed by the host`;
}
