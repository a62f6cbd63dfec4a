/** What is not timed of an action: its start, and that its request leaves. Many at once, by the product. */
import { HOLD_MS, requestOf, type Ask, type Held } from './hands';
import type { Site } from './shapes';

const FIELDS = {
  ...{ deadlineMs: 86_400_000, retryBudget: 5, requestedBy: 'bench', attendAfterMs: HOLD_MS },
};

export async function startActions({ database }: Site, asks: readonly Ask[]): Promise<void> {
  const actions = asks.map((ask) => ({ ...ask, request: requestOf(ask.actionId) }));
  const [row] = await database.rows(
    `select count(*)::integer as started from jsonb_to_recordset($1)
        as a("tenantId" text, "actionId" text, "capabilityId" text, request text)
      where waybill.start_action("tenantId", "actionId", "capabilityId",
        convert_to(request, 'UTF8'), $2)->>'kind' = 'started'`,
    [JSON.stringify(actions), JSON.stringify(FIELDS)],
  );
  if (row?.['started'] !== asks.length) throw new Error('an action could not be started');
}

export async function sendActions({ database }: Site, held: readonly Held[]): Promise<void> {
  const [row] = await database.rows(
    `select count(*)::integer as sent from jsonb_to_recordset($1)
        as h("tenantId" text, "actionId" text, fence bigint)
      cross join lateral waybill.begin_dispatch("tenantId", "actionId", fence, false) d
      where d.answer->>'kind' = 'send'`,
    [JSON.stringify(held)],
  );
  if (row?.['sent'] !== held.length) throw new Error('a reserved action could not be sent');
}
