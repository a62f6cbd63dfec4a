/** Ways to reserve and to settle, which a course takes in turn: the product's ports, or its bare SQL. */
import { createHash } from 'node:crypto';
import { closeDispatch, actionStepStatements, type DispatchClose } from '../../src/db/action-steps';
import type { Database, Row, Statement } from '../../src/db/database';
import { actionTargetResolver, routeStatements } from '../../src/db/routes';
import { tenantId } from '../../src/domain/ids';
import type { ReserveAnswer, TopologyPreference } from '../../src/domain/routes';
import { firstReceipt, firstReceiptText } from './receipts';

/** An action that wants a route. */
export interface Ask {
  readonly tenantId: string;
  readonly actionId: string;
  readonly capabilityId: string;
  /** Of its kind, from 0: what a floor takes its target by. */
  readonly nth: number;
}

/** An attempt that is open. */
export interface Held {
  readonly tenantId: string;
  readonly actionId: string;
  readonly fence: number;
  readonly replicaId: string;
}

export interface Hands {
  /** Not timed: what has to be known before. */
  readonly prepare?: (asks: readonly Ask[]) => Promise<void>;
  /** The kind of the answer, where it is no reservation. */
  readonly reserve: (ask: Ask) => Promise<Held | string>;
  /** Settles with a result; answers the kind, which is `closed`. */
  readonly close: (held: Held) => Promise<string>;
}

export const ANYWHERE: TopologyPreference = {
  ...{ region: null, zone: null, crossRegion: true, capacityClass: null },
};

/** How long a reservation holds: longer than it waits for its turn here. */
export const HOLD_MS = 600_000;

/** The request of the action, which nobody reads. */
export function requestOf(actionId: string): string {
  return JSON.stringify({ action: actionId });
}

export function reserveRequestOf({ tenantId: tenant, actionId, capabilityId }: Ask) {
  return {
    ...{ tenantId: tenantId(tenant), actionId, capabilityId },
    requestDigest: createHash('sha256').update(requestOf(actionId)).digest('hex'),
    ...{ owner: `action/${tenant}/${actionId}`, attemptNo: 1, affinityKey: null },
    ...{ holdMs: HOLD_MS, aboveFence: null },
  };
}

/** As a worker writes what a host has answered. */
export const CLOSE: DispatchClose = {
  settlement: 'completed',
  unknownCause: null,
  evidence: { answer: 'succeeded', durationMs: 4, reason: 'succeeded', detail: null },
  result: { outcome: 'succeeded', errorCode: null, detail: null },
  retryAfterMs: null,
};

/** Another one for every action. */
export function resultOf(actionId: string): Buffer {
  return Buffer.from(JSON.stringify({ done: actionId }));
}

/** As a worker calls them. `onAnswer` is told of every answer to a reservation. */
export function portHands(
  db: Database,
  topology = ANYWHERE,
  onAnswer: (ask: Ask, answer: ReserveAnswer) => void = () => undefined,
): Hands {
  const resolver = actionTargetResolver(db, topology);
  return {
    async reserve(ask) {
      const answer = await resolver.reserveRoute(reserveRequestOf(ask));
      onAnswer(ask, answer);
      if (answer.kind !== 'reserved') return answer.kind;
      return { ...heldOf(ask), fence: answer.reservation.fence, replicaId: answer.route.replicaId };
    },
    async close({ tenantId: tenant, actionId, fence }) {
      const at = { tenantId: tenantId(tenant), actionId, fence };
      const close = { ...CLOSE, resultBytes: resultOf(actionId) };
      return (await closeDispatch(db, at, close, firstReceipt)).kind;
    },
  };
}

/** The same statements, with what the driver makes of the answers. */
export function sqlHands(
  query: (statement: Statement, values: readonly unknown[]) => Promise<readonly Row[]>,
): Hands {
  const topology = JSON.stringify(ANYWHERE);
  return {
    async reserve(ask) {
      const { tenantId: tenant, actionId, ...request } = reserveRequestOf(ask);
      const values = [tenant, actionId, JSON.stringify(request), topology];
      const [row] = await query(routeStatements.reserve, values);
      const answer = row?.['answer'] as ReserveAnswer;
      if (answer.kind !== 'reserved') return answer.kind;
      return { ...heldOf(ask), fence: answer.reservation.fence, replicaId: answer.route.replicaId };
    },
    async close({ tenantId: tenant, actionId, fence }) {
      const given = [JSON.stringify(CLOSE), resultOf(actionId), firstReceiptText()];
      const values = [tenant, actionId, fence, ...given];
      const [row] = await query(actionStepStatements.closeDispatch, values);
      return (row?.['answer'] as { readonly kind: string }).kind;
    },
  };
}

function heldOf({ tenantId: tenant, actionId }: Ask): Pick<Held, 'tenantId' | 'actionId'> {
  return { tenantId: tenant, actionId };
}
