/** The loop of the express lane in Postgres: what waits for it, and claiming by opening attempts. */
import type { DeliveryAbout, DeliveryRef } from '../domain/delivery-activities';
import { WaybillError } from '../domain/errors';
import { deliveryId, tenantId, type TenantId } from '../domain/ids';
import {
  UnattendedDelivery,
  type OpenAttemptAnswer,
  type OpenedAttempt,
} from '../schemas/delivery-rows';
import { ClaimAnswer, ClaimedChain, ClaimedDelivery, ReadyDelivery } from '../schemas/express-rows';
import type { Database, Row, Statement } from './database';

export const expressStatements = {
  tenants: {
    name: 'express_tenants',
    text: 'select tenant from waybill.express_tenants($1, $2) as tenant',
  },
  claim: {
    name: 'express_claim',
    text: 'select * from waybill.claim_express($1, $2, $3, $4)',
  },
  claimUnshown: {
    name: 'express_claim_unshown',
    text: 'select * from waybill.claim_unshown($1, $2)',
  },
} as const satisfies Record<string, Statement>;

/** One that the loop has asked an attempt for. */
export interface Claimed {
  readonly ref: DeliveryRef;
  /** What people see of its workflow, should it need one. */
  readonly about: DeliveryAbout;
  readonly opened: OpenAttemptAnswer;
}

/** Tenants for which something waits, by name, from behind `after` on (role operations). */
export async function expressTenants(
  db: Database,
  after: string,
  limit: number,
): Promise<TenantId[]> {
  const rows = await db.query(expressStatements.tenants, [after, limit]);
  return rows.map(({ tenant }) => tenantId(String(tenant)));
}

/** The chain of the ready ones behind it; one that cannot be read is each one's fault. */
type ChainRead = ReturnType<typeof ClaimedChain.safeParse>;

export interface Claim {
  /** Who claims, for people who read an attempt's row. */
  readonly owner: string;
  readonly limit: number;
  /** Told of each that cannot be opened or read: a workflow goes on with it, and it is not answered. */
  readonly onBroken: (deliveryId: string, error: unknown) => void;
  /** Told where something waits for room at its target. */
  readonly onCrowded?: () => void;
}

/**
 * Opens the first attempts of up to `limit` of a tenant; see `waybill.claim_express`. One that cannot be
 * opened or read does not keep the others from it.
 */
export async function claimExpress(
  db: Database,
  tenant: TenantId,
  { owner, limit, onBroken, onCrowded }: Claim,
): Promise<Claimed[]> {
  const claimed: Claimed[] = [];
  let chain: ChainRead | null = null;
  for (const row of await claimRows(db, [tenant, owner, limit])) {
    if (row['answer'] === 'chain') {
      chain = ClaimedChain.safeParse(row);
    } else if (row['answer'] === 'crowded') {
      onCrowded?.();
    } else {
      try {
        claimed.push(claimedOf(tenant, row, chain));
      } catch (error) {
        onBroken(String(row['delivery_id']), error);
      }
    }
  }
  return claimed;
}

async function claimRows(db: Database, values: readonly unknown[]): Promise<Row[]> {
  try {
    return await db.query(expressStatements.claim, [...values, false]);
  } catch (error) {
    // Postgres cannot serve now: it is none of the rows.
    if (error instanceof WaybillError) throw error;
    return await db.query(expressStatements.claim, [...values, true]);
  }
}

function claimedOf(tenant: TenantId, row: Row, chain: ChainRead | null): Claimed {
  const { delivery_id: id } = ClaimedDelivery.parse(row);
  const opened = row['answer'] === 'ready' ? readyOf(row, chain) : ClaimAnswer.parse(row);
  if (opened.answer === 'broken') throw new WaybillError('internal', opened.info.error);
  if (opened.answer === 'unknown_delivery') throw new WaybillError('internal', 'it is gone');
  const { connectorId, eventType, subscriptionId } = opened.info;
  return {
    ref: { tenantId: tenant, deliveryId: deliveryId(id) },
    about: { connectorId, eventType, subscriptionId },
    opened,
  };
}

function readyOf(row: Row, chain: ChainRead | null): OpenedAttempt {
  if (chain?.success !== true)
    throw chain?.error ?? new WaybillError('internal', 'it has no chain');
  const { info, payload } = ReadyDelivery.parse(row);
  const { facts, opening } = info;
  return { answer: 'opened', info: Object.assign(facts, opening, chain.data.info), payload };
}

/** Failed ones whose workflow was not started in time, claimed for `pushMs` (role operations). */
export async function claimUnshown(
  db: Database,
  limit: number,
  pushMs: number,
): Promise<UnattendedDelivery[]> {
  const rows = await db.query(expressStatements.claimUnshown, [limit, pushMs]);
  return rows.map((row) => UnattendedDelivery.parse(row));
}
