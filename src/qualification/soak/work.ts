/** What clients, approvers and vendors do during a soak, without regard to what is broken. */
import { setTimeout as delay } from 'node:timers/promises';
import { ask, recordOf, refOf, stateOf, type Wish } from '../cases/actions';
import type { CaseContext } from '../cases/context';
import { eventId, postUntilTaken, toEachSource } from '../cases/vendor';
import type { Source } from '../site/topology';
import type { Accepted } from '../judging/ledger';
import { pollUntil } from '../../workers/embedded/poll';
import { SeededRandom } from './random';
import type { Soak } from './schedule';

const GAP_MS = 350;
/** So much may be waiting while workers are dead or Temporal is away. */
const MOST_UNDER_WAY = 150;
const RETRY_MS = 500;
const PATIENCE_MS = 90_000;
/** Until a workflow has come to it: they queue while workers are dead. */
const FOLLOW_PATIENCE_MS = 300_000;

type Kind = 'create' | 'create_keyed' | 'publish' | 'read' | 'build';
const KINDS: readonly Kind[] = [
  ...(['create', 'create', 'create', 'create_keyed', 'create_keyed'] as const),
  ...(['publish', 'publish', 'read', 'build', 'build'] as const),
];

/** Asks, and posts to every subscription, until the time is over; resolves when each is accepted, refused or given up. */
export async function workFor(
  context: CaseContext,
  { seed, durationMs }: Soak,
): Promise<Accepted & { readonly asked: number }> {
  const random = new SeededRandom(seed ^ 0x5eed);
  const actions: string[] = [];
  const events: Record<Source, string[]> = { durable: [], express: [], switched: [] };
  const pending: Promise<void>[] = [];
  let asked = 0;
  for (const began = performance.now(); performance.now() - began < durationMs;) {
    asked += 1;
    const label = `soak-${asked}`;
    const wish = wishOf(label, random);
    const then = random.between(0, 9);
    pending.push(
      accepted(context, wish).then(async (isAccepted) => {
        if (!isAccepted) return;
        actions.push(context.actionId(label));
        await follow(context, wish, then);
      }),
    );
    for (const event of toEachSource(label)) {
      pending.push(
        postUntilTaken(context, event).then((posted) => {
          if (posted.accepted) events[event.lane].push(eventId(context, event));
        }),
      );
    }
    await delay(GAP_MS);
    await roomFor(context, durationMs - (performance.now() - began));
  }
  await Promise.all(pending);
  return { actions, events, asked };
}

/** A slow machine is asked for less: what is under way must come to an end in some time. */
async function roomFor({ judge }: CaseContext, timeoutMs: number): Promise<void> {
  await pollUntil(async () => (await judge.underWay().catch(() => 0)) < MOST_UNDER_WAY, {
    timeoutMs: Math.max(0, timeoutMs),
    intervalMs: GAP_MS,
  });
}

function wishOf(label: string, random: SeededRandom): Wish {
  const kind = random.one(KINDS);
  const tenant = random.one(['acme', 'acme', 'globex'] as const);
  const request = { title: `Soaked ${label}` };
  if (kind === 'build') {
    const durationMs = random.between(0, 4_000);
    const capability = 'reports.build';
    return { tenant: 'acme', label, capability, request: { ...request, durationMs }, waitMs: 0 };
  }
  const capability = `tickets.${kind}`;
  if (kind !== 'read') return { tenant, label, capability, request, waitMs: 0 };
  const recordId = recordOf(tenant === 'acme' ? 'acme-tickets' : 'globex-tickets');
  return { tenant, label, capability, request: { recordId }, waitMs: 0 };
}

/** The same call until it is answered, as clients do. */
async function accepted(context: CaseContext, wish: Wish): Promise<boolean> {
  return await untilTaken(
    async () => [200, 202].includes((await ask(context, wish)).status),
    PATIENCE_MS,
  );
}

/** Most that need an approval get one; some are denied, some wait for ever. Some others are cancelled. */
async function follow(context: CaseContext, wish: Wish, then: number): Promise<void> {
  const { tenant, label, capability } = wish;
  const path = `/v1/actions/${context.actionId(label)}`;
  const body = { reason: 'soaked' };
  if (capability === 'tickets.publish') {
    if (then === 0) return;
    const decision = then <= 2 ? 'deny' : 'approve';
    await untilTaken(async () => {
      const state = await stateOf(context, refOf(context, tenant, label));
      if (state === 'requested') return false;
      const call = { tenant, as: 'approver', method: 'POST', body } as const;
      return (await context.client.call({ ...call, path: `${path}/${decision}` })).status < 500;
    });
  } else if (then <= 1) {
    await untilTaken(async () => {
      const call = { tenant, method: 'POST', path: `${path}/cancel`, body } as const;
      return (await context.client.call(call)).status < 500;
    });
  }
}

/** Whether it was within that time; what fails is tried again. */
async function untilTaken(
  tried: () => Promise<boolean>,
  timeoutMs = FOLLOW_PATIENCE_MS,
): Promise<boolean> {
  return await pollUntil(() => tried().catch(() => false), { timeoutMs, intervalMs: RETRY_MS });
}
