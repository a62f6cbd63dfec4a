/**
 * The story: real payloads received, verified, deduplicated, dispatched, failed and replayed; actions
 * started, lost and found, repeated and cancelled. Every line is judged by what can be seen from
 * outside.
 */
import type { Action } from '../../schemas/api-actions';
import type { DeliveryHistory } from '../../schemas/api-deliveries';
import type { PayloadName } from '../payloads';
import { askedAgain, cancelled, hostKilled, opensTicket } from './actions';
import type { Chapter, Outcome, StoryDeps, StoryLine } from './deps';
import { Unexpected } from './expect';
import { dispatched, failed, refused, repeated, replayed, type FailedDelivery } from './lines';
import { temporalKilled } from './outage';

export interface Story {
  readonly chapters: readonly Chapter[];
  /** The first line's delivery with its receipts, once that line came out. */
  firstDelivery(): DeliveryHistory | null;
  /** The action that outlived its host, once that line came out. */
  survivor(): Action | null;
}

const MORE_PAYLOADS: readonly PayloadName[] = [
  'ping',
  'issuesOpened',
  'pullRequestOpened',
  'largePush',
];

/** The lines in their order; some rest on what an earlier one found. */
export function story(deps: StoryDeps): Story {
  const deliveries = deliveryChapters(deps);
  const actions = actionChapters(deps);
  return {
    chapters: [...deliveries.chapters, ...actions.chapters],
    firstDelivery: deliveries.first,
    survivor: actions.survivor,
  };
}

interface DeliveryChapters {
  readonly chapters: readonly Chapter[];
  readonly first: () => DeliveryHistory | null;
}

function deliveryChapters(deps: StoryDeps): DeliveryChapters {
  const { push, releasePublished } = deps.payloads;
  const guid = deps.newGuid();
  let first: DeliveryHistory | null = null;
  let stuck: FailedDelivery | null = null;
  const plain = (name: PayloadName): Chapter => {
    const payload = deps.payloads[name];
    const play = async () => (await dispatched(deps, payload, deps.newGuid())).outcome;
    return { what: `${payload.title}: verified, dispatched, acknowledged`, play };
  };
  const chapters: Chapter[] = [
    {
      what: 'push: verified, dispatched, acknowledged',
      play: async () => {
        const { outcome, delivery } = await dispatched(deps, push, guid);
        first = delivery;
        return outcome;
      },
    },
    {
      what: 'the same push again',
      play: () => repeated(deps, push, { guid, deliveryId: earlier(first).deliveryId }),
    },
    { what: 'a push with a bad signature', play: () => refused(deps, push) },
    ...MORE_PAYLOADS.map(plain),
    {
      what: 'release published, its target is down',
      play: async () => {
        const { outcome, delivery } = await failed(deps, releasePublished);
        stuck = delivery;
        return outcome;
      },
    },
    {
      what: 'the target is repaired, the operator replays',
      play: async () => {
        // Whatever the line before came to, the target does not stay broken.
        await deps.receiver.answer({ path: deps.targetPath(releasePublished), status: null });
        return await replayed(deps, releasePublished, earlier(stuck));
      },
    },
    { what: 'the Temporal server is killed while pushes arrive', play: () => temporalKilled(deps) },
  ];
  return { chapters, first: () => first };
}

interface ActionChapters {
  readonly chapters: readonly Chapter[];
  readonly survivor: () => Action | null;
}

function actionChapters(deps: StoryDeps): ActionChapters {
  let survivor: Action | null = null;
  const chapters: Chapter[] = [
    {
      what: 'issues opened: becomes an action, a ticket is made',
      play: () => opensTicket(deps, deps.payloads.issuesOpened),
    },
    {
      what: 'an action, its host is killed with the effect made',
      play: async () => {
        const { outcome, action } = await hostKilled(deps);
        survivor = action;
        return outcome;
      },
    },
    {
      what: 'the same action again, then with another request',
      play: () => askedAgain(deps, earlier(survivor)),
    },
    { what: 'an action, cancelled while its host works', play: () => cancelled(deps) },
  ];
  return { chapters, survivor: () => survivor };
}

/** Plays one line; whatever goes wrong is what the line came to. */
export async function playLine({ what, play }: Chapter): Promise<StoryLine> {
  try {
    return { what, ...(await play()), expected: true };
  } catch (error) {
    return { what, ...failure(error), expected: false };
  }
}

function failure(error: unknown): Outcome {
  const reason = error instanceof Error ? error.message : String(error);
  return { id: null, seen: `not as expected: ${reason}`, url: null };
}

function earlier<Fact>(fact: Fact | null): Fact {
  if (fact === null) throw new Unexpected('the line that it rests on did not come out');
  return fact;
}
