/** The lines about actions. What each says it saw comes from the API and the provider's records. */
import { z } from 'zod';
import { WaybillError } from '../../domain/errors';
import type { Action } from '../../schemas/api-actions';
import type { Route } from '../../schemas/api-routes';
import { postWebhook } from '../github';
import type { Payload } from '../payloads';
import type { ActionWish, Outcome, StoryDeps } from './deps';
import { demand, eventually } from './expect';
import { acceptedId, reached, times } from './moves';

const DEADLINE_MS = 15_000;
/** A host that was killed has to start again. */
const RESTART_DEADLINE_MS = 30_000;
/** Much longer than the line takes: it ends because it is cancelled. */
const REPORT_MS = 120_000;

const TICKET: ActionWish = {
  capabilityId: 'tickets.create',
  request: { title: 'The lamp in the hall is broken' },
};
const OTHER_TICKET: ActionWish = {
  capabilityId: 'tickets.create',
  request: { title: 'The lamp in the hall works again' },
};
const REPORT: ActionWish = {
  capabilityId: 'reports.build',
  request: { title: 'Lamps of the year', durationMs: REPORT_MS },
};

/** A vendor's event becomes an action: one ticket, and an acknowledged delivery. */
export async function opensTicket(deps: StoryDeps, payload: Payload): Promise<Outcome> {
  const url = deps.actionIngressUrl(payload);
  const guid = deps.newGuid();
  const reply = await postWebhook({ url, payload, guid, secret: deps.githubSecret });
  const deliveryId = acceptedId(reply);
  const delivery = await reached(deps, deliveryId, 'Acknowledged');
  const action = await deps.actions.showAction(`${deliveryId}.1`);
  const ticketId = completedTicket(action);
  await demandOneEffect(deps, action.actionId, ticketId);
  const { replicaId } = routeOf(action);
  const seen = `202; action completed on ${replicaId}; Acknowledged; ticket ${ticketId}`;
  return { id: deliveryId, seen, url: delivery.workflowUrl };
}

/** The host dies with the effect made and nobody told: it is found, not made again. */
export async function hostKilled(
  deps: StoryDeps,
): Promise<{ readonly outcome: Outcome; readonly action: Action }> {
  const actionId = deps.newGuid();
  await deps.provider.holdNext();
  try {
    await deps.actions.startAction(actionId, TICKET, 0);
    await eventually('the effect at the provider', DEADLINE_MS, async () =>
      (await deps.provider.held()) > 0 ? true : null,
    );
    const { replicaId, assignedAt } = routeOf(await deps.actions.showAction(actionId));
    await deps.withoutHost(replicaId, async () => {
      await deps.provider.release();
      await eventually('the attempt settled as unknown', DEADLINE_MS, async () => {
        const { attempts } = await deps.actions.showAction(actionId);
        return attempts[0]?.settlement === 'outcome_unknown' ? true : null;
      });
    });
    const action = await closed(deps, actionId, RESTART_DEADLINE_MS);
    const ticketId = completedTicket(action);
    const route = routeOf(action);
    const same = route.replicaId === replicaId && route.assignedAt === assignedAt;
    demand(same, `it went to ${route.replicaId}, not back to ${replicaId}`);
    await demandOneEffect(deps, actionId, ticketId);
    const seen = `${replicaId} killed: outcome_unknown; started again: completed on the same route; ticket ${ticketId}, the only one`;
    return { action, outcome: { id: actionId, seen, url: action.workflowUrl } };
  } finally {
    await deps.provider.release();
  }
}

/** The same call is the same action; another request under its id is none at all. */
export async function askedAgain(deps: StoryDeps, first: Action): Promise<Outcome> {
  const { actionId } = first;
  const again = await deps.actions.startAction(actionId, TICKET, DEADLINE_MS);
  const ticketId = completedTicket(again);
  demand(ticketId === completedTicket(first), `it answered ticket ${ticketId}`);
  demand(again.attemptCount === first.attemptCount, 'it was attempted once more');
  const refusal = await refusalOf(deps.actions.startAction(actionId, OTHER_TICKET, 0));
  demand(refusal === 'action_conflict', `another request under its id: ${refusal}`);
  await demandOneEffect(deps, actionId, ticketId);
  const seen = `the same ticket ${ticketId}; another request: 409 action_conflict; still one effect`;
  return { id: actionId, seen, url: again.workflowUrl };
}

/** Cancelled while its host works: the work stops, and its place is free. */
export async function cancelled(deps: StoryDeps): Promise<Outcome> {
  const actionId = deps.newGuid();
  await deps.actions.startAction(actionId, REPORT, 0);
  await eventually('the report being built', DEADLINE_MS, async () =>
    (await deps.provider.recordsOf(actionId)).length > 0 ? true : null,
  );
  const { replicaId } = routeOf(await deps.actions.showAction(actionId));
  const busy = await loadOf(deps, replicaId);
  const { decision } = await deps.actions.cancelAction(actionId, 'nobody wants it any more');
  demand(decision === 'requested', `the cancel was answered ${decision}`);
  const action = await closed(deps, actionId, DEADLINE_MS);
  demand(action.state === 'cancelled', `it is ${action.state}`);
  const settlement = action.attempts.at(-1)?.settlement ?? 'open';
  demand(settlement === 'cancelled', `its route was settled ${settlement}`);
  const records = await deps.provider.recordsOf(actionId);
  demand(records.at(-1)?.operation === 'cancelled', 'the provider still builds the report');
  const { openUntil } = await deps.actions.showRoute(actionId);
  demand(openUntil === null, 'its route is still reserved');
  const after = await loadOf(deps, replicaId);
  demand(after === busy - 1, `${after} places of ${replicaId} are taken; ${busy} were before`);
  const seen = `${replicaId} stopped; route settled cancelled; ${times(busy, 'place')} taken before, ${after} after`;
  return { id: actionId, seen, url: action.workflowUrl };
}

function closed(deps: StoryDeps, actionId: string, deadlineMs: number): Promise<Action> {
  return eventually(`the end of action ${actionId}`, deadlineMs, async () => {
    const action = await deps.actions.showAction(actionId);
    return action.closedAt === null ? null : action;
  });
}

const Ticket = z.object({ ticketId: z.string() });

function completedTicket({ actionId, state, result }: Action): string {
  demand(state === 'completed', `action ${actionId} is ${state}`);
  const parsed = Ticket.safeParse(result?.result);
  demand(parsed.success, `action ${actionId} has no ticket for a result`);
  return parsed.data.ticketId;
}

function routeOf({ actionId, route }: Action): Route {
  demand(route !== null, `action ${actionId} has no route`);
  return route;
}

async function demandOneEffect(deps: StoryDeps, actionId: string, effectId: string): Promise<void> {
  const effects = await deps.provider.recordsOf(actionId);
  const made = effects.filter(({ operation }) => operation === 'created');
  demand(made.length === 1, `the provider made ${times(made.length, 'effect')} of it`);
  demand(made[0]?.effectId === effectId, 'the provider made another ticket');
}

/** How many actions are under way on the replica. */
async function loadOf(deps: StoryDeps, replicaId: string): Promise<number> {
  const { replicas } = await deps.actions.fleetStatus({ limit: '100' });
  const replica = replicas.find((row) => row.replicaId === replicaId);
  demand(replica !== undefined, `the fleet has no replica ${replicaId}`);
  return replica.activeAssignments;
}

async function refusalOf(call: Promise<Action>): Promise<string> {
  try {
    await call;
    return 'it was taken';
  } catch (error) {
    if (error instanceof WaybillError) return error.code;
    throw error;
  }
}
