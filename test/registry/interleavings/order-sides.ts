/**
 * One call, made of Postgres or of memory, and its answer in words that both share: without clocks, and
 * without fences, for which the numbers of the attempts stand.
 */
import { actionLedger } from '../../../src/db/actions';
import type { Database } from '../../../src/db/database';
import { fleetStatusProvider, registryAdministrator } from '../../../src/db/replicas';
import { actionTargetResolver } from '../../../src/db/routes';
import { tenantId } from '../../../src/domain/ids';
import { memoryRegistry, type Registry } from '../../../src/memory/registry';
import { emptyState, keyOf, type RegistryState } from '../../../src/memory/state';
import type { TestDatabase } from '../../support/test-database';
import { ANYWHERE, Rig, type CatalogChange } from '../fixture';
import { memoryFixtureOver } from '../memory-fixture';
import { postgresFixture } from '../postgres-fixture';
import type { Call } from './order-steps';
import { changeAsPublication } from './publication';

const HOLD_MS = 40_000;

/** A call with all that it says, which is the same for both sides. */
export interface Bound {
  readonly call: Call;
  /** The attempt to reserve, or to settle; null: one that never was. */
  readonly attemptNo: number | null;
  readonly previousSequence: number;
  readonly requestId: string;
}

export interface Side {
  readonly registry: Pick<Registry, 'resolver' | 'ledger' | 'administrator'>;
  readonly change: (change: CatalogChange) => Promise<void>;
  readonly fenceOf: (action: string, attemptNo: number | null) => Promise<number>;
}

/** Whoever is told to come back because others hold the locks has done nothing. */
export const CONTENDED = { kind: 'contended', retryInMs: 0 };

/** What the calls of a round say, by the attempts that there are before it. */
export async function bind(
  db: TestDatabase,
  nth: number,
  round: readonly Call[],
): Promise<Bound[]> {
  const rows = await db.rows<{ action: string; no: number }>(
    'select action_id as action, attempt_no as no from waybill.route_attempts order by attempt_no',
  );
  const previousSequence = await new Rig(postgresFixture(db)).sequence('h1');
  return round.map((call, index) => {
    const numbers = rows.filter(({ action }) => 'action' in call && action === call.action);
    const known = numbers.map(({ no }) => no);
    return {
      ...{ call, previousSequence, requestId: `round-${nth}-${index}` },
      attemptNo: attemptOf(call, known),
    };
  });
}

function attemptOf(call: Call, known: readonly number[]): number | null {
  const last = known.at(-1) ?? null;
  if (call.do === 'reserve') {
    return { next: (last ?? 0) + 1, same: last ?? 1, first: 1 }[call.number];
  }
  if (!('which' in call)) return null;
  return { newest: last, older: known.at(-2) ?? null, unheard: null }[call.which];
}

/** Makes the call. */
export async function take(side: Side, { call, attemptNo, ...bound }: Bound): Promise<unknown> {
  const { resolver, ledger, administrator } = side.registry;
  switch (call.do) {
    case 'reserve':
      return reserve(side, call.action, attemptNo ?? 1);
    case 'settle':
      return resolver.settleRoute({
        ...{ tenantId: tenantId('acme'), actionId: call.action, settlement: call.settlement },
        fence: await side.fenceOf(call.action, attemptNo),
        unknownCause: call.settlement === 'outcome_unknown' ? 'host' : null,
        evidence: {},
      });
    case 'extend': {
      const fence = await side.fenceOf(call.action, attemptNo);
      const at = { tenantId: tenantId('acme'), actionId: call.action, fence };
      return (await resolver.extendReservation(at, HOLD_MS)).kind;
    }
    case 'move': {
      const from = call.to === 'requested' ? (['reconciling'] as const) : (['unknown'] as const);
      const at = { tenantId: tenantId('acme'), actionId: call.action, reason: null };
      const move = { ...at, from, to: call.to, result: null, waiting: false };
      return (await ledger.moveAction(move)).kind;
    }
    case 'host': {
      const asked = { replicaId: 'h1', ...bound };
      const answer = await (call.what === 'drain'
        ? administrator.drain(asked)
        : call.what === 'register'
          ? administrator.register({ ...asked, storeEpoch: 'epoch-1' })
          : administrator.heartbeat({ ...asked, healthy: call.what === 'heartbeat' }));
      return answer.kind === 'accepted' ? { ...answer, leaseMs: 0 } : answer;
    }
    case 'publish':
      await side.change(call.change);
      return null;
  }
}

const requests = new Rig(memoryFixtureOver(emptyState(Date.now), { nowMs: 0 }));

async function reserve(side: Side, action: string, attemptNo: number): Promise<unknown> {
  const request = requests.request(action, { attemptNo, holdMs: HOLD_MS });
  const answer = await side.registry.resolver.reserveRoute(request);
  if (answer.kind === 'reserved') {
    const { probe, incarnation, healthRevision } = answer.reservation;
    return { kind: answer.kind, attemptNo, probe, incarnation, healthRevision };
  }
  if ('retryInMs' in answer) return { ...answer, retryInMs: 0 };
  return 'endsInMs' in answer ? { ...answer, endsInMs: 0 } : answer;
}

/** @param data a pool of role waybill_data with a connection for each call of a round */
export function postgresSide(db: TestDatabase, data: Database): Side {
  return {
    registry: {
      resolver: actionTargetResolver(data, ANYWHERE),
      ledger: actionLedger(data),
      administrator: registryAdministrator(db.as('waybill_lifecycle')),
    },
    change: (change) => changeAsPublication(db, change),
    async fenceOf(action, attemptNo) {
      const [row] = await db.rows<{ fence: string }>(
        'select fence from waybill.route_attempts where action_id = $1 and attempt_no = $2',
        [action, attemptNo],
      );
      return Number(row?.fence ?? 1);
    },
  };
}

export function memorySide(state: RegistryState): Side {
  const attempts = (action: string) => state.actions.get(keyOf('acme', action))?.attempts ?? [];
  return {
    registry: memoryRegistry(state, ANYWHERE),
    change: (change) => memoryFixtureOver(state, { nowMs: 0 }).change(change),
    fenceOf: (action, no) =>
      Promise.resolve(attempts(action).find(({ attemptNo }) => attemptNo === no)?.fence ?? 1),
  };
}

/** What both sides must agree on after a round. */
export async function postgresFigures(db: TestDatabase): Promise<unknown> {
  const actions = await db.rows<{ state: string; attempts: string[] }>(
    `select a.state, array(select coalesce(t.settlement, 'open') from waybill.route_attempts t
        where t.action_id = a.action_id order by t.attempt_no) as attempts
      from waybill.actions a order by a.action_id`,
  );
  return {
    actions: actions.map(({ state, attempts }) => ({ state, attempts })),
    held: await postgresFixture(db).held(),
    fleet: await fleetStatusProvider(db.as('waybill_operations')).status(),
  };
}

export async function memoryFigures(state: RegistryState): Promise<unknown> {
  const actions = [...state.actions.values()].map(({ state: is, attempts }) => ({
    state: is,
    attempts: attempts.map(({ settlement }) => settlement ?? 'open'),
  }));
  const held = await memoryFixtureOver(state, { nowMs: 0 }).held();
  return { actions, held, fleet: await memoryRegistry(state, ANYWHERE).fleet.status() };
}
