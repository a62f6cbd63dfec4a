/** Deliveries in Postgres: receiving, attempts, settlement, replay. One function, one round trip. */
import { WaybillError } from '../domain/errors';
import type { AttemptOutcome, TargetHealth } from '../domain/attempts';
import type { DeliveryId, SubscriptionId, TenantId } from '../domain/ids';
import type { DeliveryRef } from '../domain/delivery-activities';
import type { CarriedApproval } from '../domain/sending';
import type { ReceiptRow } from '../domain/receipts';
import type { IngestAnswer } from '../schemas/delivery-rows';
import {
  CloseAttemptAnswer,
  DeliveryFacts,
  FailDeliveryAnswer,
  IngestAnswers,
  OpenAttemptAnswer,
  ReleasedAnswer,
  ReplayDeliveryAnswer,
  UnattendedDelivery,
} from '../schemas/delivery-rows';
import type { RejectedRequest } from '../schemas/rejected-requests';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const deliveryStatements = {
  ingest: {
    name: 'delivery_ingest',
    text: 'select waybill.ingest_deliveries($1, $2, $3, $4) as answers',
  },
  reject: {
    name: 'delivery_reject',
    text: 'select waybill.store_rejected($1, $2, $3, $4, $5)',
  },
  openAttempt: {
    name: 'delivery_open_attempt',
    text: 'select answer, info, payload from waybill.open_attempt($1, $2, $3)',
  },
  closeAttempt: {
    name: 'delivery_close_attempt',
    text: 'select waybill.close_attempt($1, $2, $3, $4, $5) as answer',
  },
  fail: {
    name: 'delivery_fail',
    text: 'select waybill.fail_delivery($1, $2, $3, $4, $5) as answer',
  },
  facts: {
    name: 'delivery_facts',
    text: 'select waybill.read_delivery_facts($1, $2) as facts',
  },
  replay: {
    name: 'delivery_replay',
    text: 'select waybill.replay_delivery($1, $2, $3, $4, $5, $6) as answer',
  },
  claimUnattended: {
    name: 'delivery_claim_unattended',
    text: 'select * from waybill.claim_unattended($1, $2)',
  },
  releaseGated: {
    name: 'delivery_release_gated',
    text: `select released, after_tenant as "tenantId", after_gate as gate
      from waybill.release_gated($1, $2, $3, $4)`,
  },
} as const satisfies Record<string, Statement>;

/** What is known of a request once its signature was judged. */
export interface ReceivedRequest {
  readonly tenantId: TenantId;
  readonly deliveryId: DeliveryId;
  readonly subscriptionId: SubscriptionId;
  readonly connectorId: string;
  readonly instanceId: string;
  readonly externalId: string | null;
  readonly eventType: string;
  readonly contentType: string | null;
  readonly keptHeaders: readonly (readonly [string, string])[];
  /** How it was verified: scheme and secret id; never a secret. */
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly payload: Uint8Array;
}

export interface VerifiedRequest extends ReceivedRequest {
  readonly dedupKey: string;
  /** For how long the vendor sends it again, in seconds; left out: not known. */
  readonly retryHorizonS?: number;
  /** What freshness is judged by, on the database's clock; null when the scheme signs no time. */
  readonly freshness: {
    readonly signedAtMs: number;
    readonly toleranceMs: number;
    readonly aheadMs: number;
  } | null;
  /** False: it leaves no row where it turns out stale, as its sender has had too many of these. */
  readonly recordStale?: boolean;
  /** How long the receiving process has to start the workflow itself before a loop does. */
  readonly attendAfterMs: number;
}

export interface AttemptClose {
  readonly outcome: AttemptOutcome;
  readonly reason: string | null;
  /** Of the delivery that fails with it; left out or null: the attempt's own. */
  readonly failReason?: string | null;
  readonly detail: string | null;
  readonly status: number | null;
  readonly durationMs: number | null;
  readonly answerSha256: string | null;
  readonly answerHead: string | null;
  readonly decision: 'acknowledged' | 'retry' | 'failed';
  readonly delayMs: number | null;
  readonly pauseSubscription: boolean;
  /** What it says of its target; null: nothing. */
  readonly targetHealth: TargetHealth | null;
}

/** Payload, dedup key and row in one transaction; see `waybill.ingest_deliveries`. */
export async function ingestDelivery(
  db: Database,
  request: VerifiedRequest,
  tell = false,
): Promise<IngestAnswer> {
  const [answer] = await ingestDeliveries(db, request.tenantId, [request], tell);
  if (answer === undefined) throw new WaybillError('internal', 'nothing was answered');
  return answer;
}

/**
 * Stores all of them, or throws and has stored none. The answers are in their order.
 * @param requests of this tenant
 * @param tell whether the commit tells the loop of the express lane of those that are its own
 */
export async function ingestDeliveries(
  db: Database,
  tenant: TenantId,
  requests: readonly VerifiedRequest[],
  tell = false,
): Promise<IngestAnswer[]> {
  const rows = await db.query(deliveryStatements.ingest, [
    tenant,
    JSON.stringify(
      requests.map((request) => {
        const { deliveryId, subscriptionId, payload } = request;
        const payloadBytes = payload.length;
        return Object.assign(fieldsOf(request), { deliveryId, subscriptionId, payloadBytes });
      }),
    ),
    Buffer.concat(requests.map(({ payload }) => payload)),
    tell,
  ]);
  return IngestAnswers.parse(onlyRow(rows)['answers']);
}

/** Records a request with a refused signature; takes no dedup key. */
export async function rejectDelivery(
  db: Database,
  request: ReceivedRequest,
  why: {
    readonly reason: string;
    readonly detail: string;
    /** What it can be judged again by; without it, it cannot be. */
    readonly request?: RejectedRequest | null;
  },
): Promise<void> {
  await db.query(deliveryStatements.reject, [
    request.tenantId,
    request.deliveryId,
    request.subscriptionId,
    request.payload,
    JSON.stringify({ ...describe(request), ...why }),
  ]);
}

/** Opens the next fenced attempt, or says why not; see `waybill.open_attempt`. */
export async function openAttempt(
  db: Database,
  ref: DeliveryRef,
  owner: string,
): Promise<OpenAttemptAnswer> {
  const rows = await db.query(deliveryStatements.openAttempt, [
    ref.tenantId,
    ref.deliveryId,
    owner,
  ]);
  return OpenAttemptAnswer.parse(onlyRow(rows));
}

/** Closes an attempt and carries out its decision; see `waybill.close_attempt`. */
export async function closeAttempt(
  db: Database,
  at: DeliveryRef & { readonly attempt: number },
  close: AttemptClose,
  receipt: ReceiptRow | null,
): Promise<CloseAttemptAnswer> {
  const rows = await db.query(deliveryStatements.closeAttempt, [
    at.tenantId,
    at.deliveryId,
    at.attempt,
    JSON.stringify(close),
    receipt === null ? null : JSON.stringify(receipt),
  ]);
  return CloseAttemptAnswer.parse(onlyRow(rows)['answer']);
}

/** Fails a live delivery that cannot be dispatched at all. */
export async function failDelivery(
  db: Database,
  ref: DeliveryRef,
  why: { readonly reason: string; readonly detail: string },
  receipt: ReceiptRow,
): Promise<FailDeliveryAnswer> {
  const rows = await db.query(deliveryStatements.fail, [
    ref.tenantId,
    ref.deliveryId,
    why.reason,
    why.detail,
    JSON.stringify(receipt),
  ]);
  return FailDeliveryAnswer.parse(onlyRow(rows)['answer']);
}

/** The facts that a receipt is signed over; null when the tenant has no such delivery. */
export async function readDeliveryFacts(
  db: Database,
  ref: DeliveryRef,
): Promise<DeliveryFacts | null> {
  const rows = await db.query(deliveryStatements.facts, [ref.tenantId, ref.deliveryId]);
  return DeliveryFacts.nullable().parse(onlyRow(rows)['facts']);
}

/** What a replay of something that is sent may need: see `waybill.replay_delivery`. */
export interface ReplayAllowed {
  readonly confirmUncertain: boolean;
  readonly approval: CarriedApproval | null;
}

/** Failed → Replayed, or why not; see `waybill.replay_delivery`. */
export async function replayDelivery(
  db: Database,
  ref: DeliveryRef,
  who: { readonly replayedBy: string; readonly reason: string; readonly allowed?: ReplayAllowed },
  receipt: ReceiptRow,
): Promise<ReplayDeliveryAnswer> {
  const rows = await db.query(deliveryStatements.replay, [
    ref.tenantId,
    ref.deliveryId,
    who.replayedBy,
    who.reason,
    JSON.stringify(receipt),
    JSON.stringify(who.allowed ?? {}),
  ]);
  return ReplayDeliveryAnswer.parse(onlyRow(rows)['answer']);
}

/** Live deliveries that are overdue for attention, claimed for `pushMs` (role operations). */
export async function claimUnattended(
  db: Database,
  limit: number,
  pushMs: number,
): Promise<UnattendedDelivery[]> {
  const rows = await db.query(deliveryStatements.claimUnattended, [limit, pushMs]);
  return rows.map((row) => UnattendedDelivery.parse(row));
}

/** Behind which gate a walk over all of them goes on. */
export type GatePlace = Pick<ReleasedAnswer, 'tenantId' | 'gate'>;

export const BEFORE_ALL_GATES: GatePlace = { tenantId: '', gate: '' };

/** Most gates that one round looks at. */
const GATES_AT_ONCE = 1000;

/**
 * Releases up to `limit` deliveries whose gate is open again, each at its rate (role operations); they
 * are then due for attention.
 * @param after where the round before has ended
 * @returns how many, and where the next round goes on
 */
export async function releaseGated(
  db: Database,
  limit: number,
  after: GatePlace = BEFORE_ALL_GATES,
  gates = GATES_AT_ONCE,
): Promise<ReleasedAnswer> {
  const values = [limit, gates, after.tenantId, after.gate];
  return ReleasedAnswer.parse(onlyRow(await db.query(deliveryStatements.releaseGated, values)));
}

/** A verified request as the database takes it. */
export function fieldsOf(request: VerifiedRequest): Record<string, unknown> {
  const { dedupKey, retryHorizonS, freshness, recordStale, attendAfterMs } = request;
  const more = { dedupKey, retryHorizonS, recordStale, attendAfterMs };
  // Spread into a literal it takes ten times as long, for every request.
  return Object.assign(describe(request), more, freshness);
}

function describe(request: ReceivedRequest): Record<string, unknown> {
  const { connectorId, instanceId, externalId, eventType, contentType, keptHeaders, evidence } =
    request;
  return { connectorId, instanceId, externalId, eventType, contentType, keptHeaders, evidence };
}
