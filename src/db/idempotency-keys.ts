/** Idempotency keys of requests: claims, their leases, and the answers that are kept. */
import type { TenantId } from '../domain/ids';
import { ClaimAnswer, type KeptAnswer } from '../schemas/idempotency-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const idempotencyStatements = {
  claim: {
    name: 'idempotency_claim',
    text: 'select waybill.claim_idempotency_key($1, $2, $3, $4, $5, $6, $7, $8) as answer',
  },
  renew: {
    name: 'idempotency_renew',
    text: 'select waybill.renew_idempotency_key($1, $2, $3, $4, $5, $6) as answer',
  },
  keep: {
    name: 'idempotency_keep',
    text: 'select waybill.keep_idempotent_answer($1, $2, $3, $4, $5, $6, $7) as answer',
  },
} as const satisfies Record<string, Statement>;

/** Whose key it is, and for which route: the same text elsewhere is another key. */
export interface IdempotencyKey {
  readonly tenantId: TenantId;
  /** Who calls. */
  readonly principal: string;
  /** Method and path pattern. */
  readonly route: string;
  readonly key: string;
}

/**
 * Claims the key for a request for `leaseMs`, or answers what became of it; see
 * `waybill.claim_idempotency_key`.
 * @param request `sha256` of all that the request asks for; `keepMs` until the key is forgotten;
 *   `effectId` a new UUID, which counts unless the key has one already
 */
export async function claimIdempotencyKey(
  db: Database,
  key: IdempotencyKey,
  request: {
    readonly sha256: Uint8Array;
    readonly leaseMs: number;
    readonly keepMs: number;
    readonly effectId: string;
  },
): Promise<ClaimAnswer> {
  const { sha256, leaseMs, keepMs, effectId } = request;
  const values = [...keyed(key), sha256, leaseMs, keepMs, effectId];
  return ClaimAnswer.parse(onlyRow(await db.query(idempotencyStatements.claim, values))['answer']);
}

/** Goes on with a claim, or gives it up (0 ms). False: it is another one's by now. */
export async function renewIdempotencyKey(
  db: Database,
  key: IdempotencyKey,
  claim: number,
  leaseMs: number,
): Promise<boolean> {
  const values = [...keyed(key), claim, leaseMs];
  return onlyRow(await db.query(idempotencyStatements.renew, values))['answer'] === true;
}

/** Keeps the answer of a claim. False: it is another one's by now. */
export async function keepIdempotentAnswer(
  db: Database,
  key: IdempotencyKey,
  claim: number,
  { status, ...answer }: KeptAnswer & { readonly status: number },
): Promise<boolean> {
  const values = [...keyed(key), claim, status, JSON.stringify(answer)];
  return onlyRow(await db.query(idempotencyStatements.keep, values))['answer'] === true;
}

function keyed({ tenantId, principal, route, key }: IdempotencyKey): unknown[] {
  return [tenantId, principal, route, key];
}
