/**
 * The ledger: everything that was accepted against everything that there is, in the databases of both sides
 * and at the target. A set of counts, each of which is 0 where nothing is wrong.
 */
import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';
import type { Database } from '../../db/database';
import { LANES, type Lane } from '../../domain/lanes';
import { verifyReceiptChain } from '../../signing/receipts/verify-chain';
import { of } from '../families/family';
import type { LaneCounts, Ledger } from '../families/soak';
import type { Source } from '../site/topology';
import * as texts from './ledger-queries';

/** What was answered as accepted. */
export interface Accepted {
  /** Ids of actions. */
  readonly actions: readonly string[];
  /** The vendor's ids of events, by the subscription that they were posted to. */
  readonly events: Readonly<Record<Source, readonly string[]>>;
}

/** What the target says that it got. */
export interface TargetEntry {
  readonly deliveryId: string | null;
  readonly sha256: string;
  readonly status: number;
}

type Reads = Pick<Database, 'query'>;

export interface LedgerSources {
  readonly waybill: Reads;
  readonly provider: Reads;
  readonly keys: JSONWebKeySet;
  readonly target: readonly TargetEntry[];
  readonly wrongCounters: number;
}

const ENDED_ACTIONS = ['completed', 'failed', 'cancelled'];
/** For a person, for as long as that takes. */
const WAITING_ACTIONS = ['awaiting_approval', 'needs_operator'];
const ENDED_DELIVERIES = ['Acknowledged', 'Failed', 'Deduplicated', 'Rejected'];
const DUPLICATE = 'Deduplicated';

const Action = z.object({
  tenant: z.string(),
  actionId: z.string(),
  state: z.string(),
  approval: z.string().nullable(),
  sideEffect: z.string().nullable(),
  openAttempts: z.number(),
});
type Action = z.infer<typeof Action>;
const Delivery = z.object({
  tenant: z.string(),
  id: z.string(),
  lane: z.enum(LANES),
  event: z.string().nullable(),
  state: z.string(),
  openAttempts: z.number(),
  overlaps: z.number(),
  foreignToLoop: z.number(),
});
type Delivery = z.infer<typeof Delivery>;
const Receipt = z.object({
  tenant: z.string(),
  subject: z.string(),
  kind: z.string(),
  jws: z.string(),
});
type Receipt = z.infer<typeof Receipt>;
const Effect = z.object({ reference: z.string().nullable(), approval: z.string().nullable() });
type Effect = z.infer<typeof Effect>;

export async function ledgerOf(sources: LedgerSources, accepted: Accepted): Promise<Ledger> {
  const { waybill, provider, target } = sources;
  const actions = await all(waybill, Action, texts.ACTIONS);
  const deliveries = await all(waybill, Delivery, texts.DELIVERIES);
  const receipts = await all(waybill, Receipt, texts.RECEIPTS);
  const effects = await all(provider, Effect, texts.EFFECTS);
  return {
    ...actionCounts(actions, accepted),
    ...inLane('durable', laneCounts('durable', deliveries, { accepted, target })),
    ...inLane('express', laneCounts('express', deliveries, { accepted, target })),
    ...effectCounts(actions, effects),
    'accepted events of a changed lane that are not there': switchedAndLost(deliveries, accepted),
    'ids at the target that no delivery has': foreignIds(deliveries, target),
    'counters that differ from the open attempts': sources.wrongCounters,
    'receipt chains that do not verify': await brokenChains(receipts, sources.keys),
    'ends without their receipt': unattested(actions, deliveries, receipts),
  };
}

function actionCounts(actions: readonly Action[], accepted: Accepted) {
  const there = new Set(actions.map(({ actionId }) => actionId));
  const known = [...ENDED_ACTIONS, ...WAITING_ACTIONS];
  return {
    'accepted actions that are not there': count(accepted.actions, (id) => !there.has(id)),
    'actions that are neither at an end nor waiting for a person': count(
      actions,
      ({ state }) => !known.includes(state),
    ),
    'actions with an open attempt': count(actions, ({ openAttempts }) => openAttempts > 0),
  };
}

function laneCounts(
  lane: Lane,
  all: readonly Delivery[],
  { accepted, target }: { readonly accepted: Accepted; readonly target: readonly TargetEntry[] },
): LaneCounts {
  const deliveries = all.filter((one) => one.lane === lane);
  const live = deliveries.filter(isLive);
  const there = new Set(live.map(({ event }) => event));
  const twice = repeated(all.filter(isLive).map(({ event }) => event));
  return {
    'accepted events that are not there': count(accepted.events[lane], (id) => !there.has(id)),
    // Also in the other lane: a subscription may have changed its own.
    'events that are there more than once': count([...there], (event) => twice.has(event)),
    'deliveries that are not at an end': count(
      live,
      ({ state }) => !ENDED_DELIVERIES.includes(state),
    ),
    'deliveries with an open attempt': count(live, ({ openAttempts }) => openAttempts > 0),
    'deliveries with attempts that overlap': count(live, ({ overlaps }) => overlaps > 0),
    "attempts by the loop that are not the loop's": live.reduce(
      (sum, { foreignToLoop }) => sum + foreignToLoop,
      0,
    ),
    ...targetCounts(deliveries, target),
  };
}

/** Whichever lane each is in. */
function switchedAndLost(deliveries: readonly Delivery[], { events }: Accepted): number {
  const there = new Set(deliveries.filter(isLive).map(({ event }) => event));
  return count(events.switched, (id) => !there.has(id));
}

function isLive({ state }: Delivery): boolean {
  return state !== DUPLICATE;
}

function inLane<L extends Lane>(lane: L, counts: LaneCounts) {
  const named = Object.entries(counts).map(([what, n]) => [of(lane, what), n]);
  return Object.fromEntries(named) as Readonly<Record<`${L}: ${keyof LaneCounts}`, number>>;
}

function effectCounts(actions: readonly Action[], effects: readonly Effect[]) {
  const byId = new Map(actions.map((action) => [action.actionId, action]));
  const done = new Set(effects.map(({ reference }) => reference));
  const actionOf = ({ reference }: Effect) => byId.get(reference ?? '');
  const isMutation = ({ sideEffect }: Action) => sideEffect !== 'read';
  return {
    'actions with more than one effect': repeated(effects.map(({ reference }) => reference)).size,
    'effects of no action': count(effects, (effect) => actionOf(effect) === undefined),
    'completed mutations without their effect': count(
      actions,
      (one) => one.state === 'completed' && isMutation(one) && !done.has(one.actionId),
    ),
    'failed actions with an effect': count(
      actions,
      ({ state, actionId }) => state === 'failed' && done.has(actionId),
    ),
    'effects without the approval that they need': count(effects, (effect) => {
      const action = actionOf(effect);
      const isNeeded = action?.sideEffect === 'external';
      return isNeeded && (effect.approval === null || effect.approval !== action.approval);
    }),
  };
}

/** @param deliveries those of a lane; what the target got of others is not looked at */
function targetCounts(deliveries: readonly Delivery[], target: readonly TargetEntry[]) {
  const own = new Set<string | null>(deliveries.map(({ id }) => id));
  const bytes = new Set(
    target.filter(({ deliveryId }) => own.has(deliveryId)).map((one) => one.sha256),
  );
  const entries = target.filter(({ sha256 }) => bytes.has(sha256));
  const taken = new Set(
    entries.filter(({ status }) => status === 200).map((one) => one.deliveryId),
  );
  const pairs = new Set(entries.map(({ sha256, deliveryId }) => `${sha256} ${String(deliveryId)}`));
  return {
    // Each event has bytes of its own.
    'events with more than one id at the target': repeated(
      [...pairs].map((pair) => pair.split(' ')[0] ?? ''),
    ).size,
    'acknowledged deliveries that the target did not take': count(
      deliveries,
      ({ state, id }) => state === 'Acknowledged' && !taken.has(id),
    ),
  };
}

function foreignIds(deliveries: readonly Delivery[], target: readonly TargetEntry[]): number {
  const known = new Set(deliveries.map(({ id }) => id));
  const ids = [...new Set(target.map(({ deliveryId }) => deliveryId))];
  return count(ids, (id) => id === null || !known.has(id));
}

async function brokenChains(receipts: readonly Receipt[], keys: JSONWebKeySet): Promise<number> {
  let broken = 0;
  for (const chain of bySubject(receipts).values()) {
    const { ok } = await verifyReceiptChain(
      chain.map(({ jws }) => jws),
      keys,
    );
    if (!ok) broken += 1;
  }
  return broken;
}

/** Those whose chain does not end with what became of them, or says so more than once. */
function unattested(
  actions: readonly Action[],
  deliveries: readonly Delivery[],
  receipts: readonly Receipt[],
): number {
  const chains = bySubject(receipts);
  const isAttested = (tenant: string, subject: string, kind: string) => {
    const chain = chains.get(keyOf({ tenant, subject })) ?? [];
    return chain.at(-1)?.kind === kind && count(chain, (one) => one.kind === kind) === 1;
  };
  const ended = actions.filter(({ state }) => ENDED_ACTIONS.includes(state));
  const taken = deliveries.filter(({ state }) => ['Acknowledged', 'Failed'].includes(state));
  return (
    count(ended, (one) => {
      return !isAttested(one.tenant, `action/${one.actionId}`, `action_${one.state}`);
    }) +
    count(taken, (one) => {
      return !isAttested(one.tenant, `delivery/${one.id}`, one.state.toLowerCase());
    })
  );
}

function bySubject(receipts: readonly Receipt[]): Map<string, Receipt[]> {
  const chains = new Map<string, Receipt[]>();
  for (const receipt of receipts) {
    const key = keyOf(receipt);
    chains.set(key, [...(chains.get(key) ?? []), receipt]);
  }
  return chains;
}

function keyOf({ tenant, subject }: Pick<Receipt, 'tenant' | 'subject'>): string {
  return JSON.stringify([tenant, subject]);
}

function count<Value>(values: readonly Value[], isCounted: (value: Value) => boolean): number {
  return values.filter(isCounted).length;
}

/** The values that stand there more than once. */
function repeated(values: readonly (string | null)[]): ReadonlySet<string | null> {
  const seen = new Set<string | null>();
  const again = new Set<string | null>();
  for (const value of values) (seen.has(value) ? again : seen).add(value);
  return again;
}

async function all<Value>(database: Reads, schema: z.ZodType<Value>, text: string) {
  return z.array(schema).parse(await database.query({ name: 'ledger', text }, []));
}
