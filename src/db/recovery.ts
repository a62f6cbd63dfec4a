/** Recovering from a restore of the database, over a pool of role `waybill_operations`. */
import type { ActionRef } from '../domain/action-service';
import type {
  ActionRun,
  ActionRunFacts,
  Adopted,
  Doubted,
  RecoveryStatus,
} from '../domain/recovery';
import { ActionRefRow, OpenActionRow, RecoveryStatusRow } from '../schemas/upkeep-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const recoveryStatements = {
  begin: { name: 'recovery_begin', text: 'select waybill.begin_recovery($1)' },
  end: { name: 'recovery_end', text: 'select waybill.end_recovery($1) as ended' },
  status: { name: 'recovery_status', text: 'select waybill.recovery_status() as status' },
  open: {
    name: 'recovery_open_actions',
    text: `select tenant_id as "tenantId", action_id as "actionId", attend_at::text as "attendAt",
        exists (select from waybill.routes r where r.tenant_id = a.tenant_id
          and r.action_id = a.action_id and r.retired_at is null) as routed
      from waybill.actions a
      where attend_at is not null
        and (attend_at, tenant_id, action_id) > ($1::timestamptz, $2::text, $3::text)
      order by attend_at, tenant_id, action_id limit $4`,
  },
  doubt: { name: 'recovery_doubt_action', text: 'select waybill.doubt_action($1, $2, $3) as kind' },
  lost: {
    name: 'recovery_lost_actions',
    text: `select tenant_id as "tenantId", action_id as "actionId" from waybill.lost_actions($1)`,
  },
  adopt: { name: 'recovery_adopt_action', text: 'select waybill.adopt_action($1, $2, $3) as kind' },
} as const satisfies Record<string, Statement>;

const PAGE = 1_000;
const FIRST: Pick<OpenActionRow, 'attendAt' | 'actionId'> & { readonly tenantId: string } = {
  attendAt: '-infinity',
  tenantId: '',
  actionId: '',
};

/** From now on nothing is reserved or sent; every host has to register anew. */
export async function beginRecovery(db: Database, by: string): Promise<void> {
  await db.query(recoveryStatements.begin, [by]);
}

/** Reserving goes on. False: the deployment was not recovering. */
export async function endRecovery(db: Database, by: string): Promise<boolean> {
  return onlyRow(await db.query(recoveryStatements.end, [by]))['ended'] === true;
}

export async function recoveryStatus(db: Database): Promise<RecoveryStatus> {
  return RecoveryStatusRow.parse(onlyRow(await db.query(recoveryStatements.status, []))['status']);
}

/** Every open action, read in pages. */
export async function openActions(db: Database): Promise<OpenActionRow[]> {
  const found: OpenActionRow[] = [];
  for (;;) {
    const { attendAt, tenantId, actionId } = found.at(-1) ?? FIRST;
    const values = [attendAt, tenantId, actionId, PAGE];
    const rows = await db.query(recoveryStatements.open, values);
    found.push(...rows.map((row) => OpenActionRow.parse(row)));
    if (rows.length < PAGE) return found;
  }
}

/**
 * An open action may have been sent since the backup.
 * @param sentFence the highest fence with which Temporal knows that it was handed over for sending; 0:
 *   it never was; null: that is not known
 */
export async function doubtAction(
  db: Database,
  ref: ActionRef,
  sentFence: number | null,
): Promise<Doubted> {
  const values = [ref.tenantId, ref.actionId, sentFence];
  return onlyRow(await db.query(recoveryStatements.doubt, values))['kind'] as Doubted;
}

/** Which of these runs have no row of their own action. */
export async function lostActions(db: Database, runs: readonly ActionRun[]): Promise<ActionRef[]> {
  const rows = await db.query(recoveryStatements.lost, [JSON.stringify(runs)]);
  return rows.map((row) => ActionRefRow.parse(row));
}

export interface LostAction extends Pick<
  ActionRunFacts,
  'capabilityId' | 'requestDigest' | 'affinityKey' | 'sentFence' | 'closedAt'
> {
  /** Of its first run. */
  readonly startedAt: string;
  /** Null: what became of it is not known. */
  readonly outcome: 'succeeded' | 'failed' | 'cancelled' | null;
}

/** Writes an action down whose row was lost: its id is never new. */
export async function adoptAction(
  db: Database,
  ref: ActionRef,
  told: LostAction,
): Promise<Adopted> {
  const values = [ref.tenantId, ref.actionId, JSON.stringify(told)];
  return onlyRow(await db.query(recoveryStatements.adopt, values))['kind'] as Adopted;
}
