/** Whom the deployment takes signed approvals from, and the clock that decides whether one still holds. */
import { z } from 'zod';
import { TrustedApprovers } from '../schemas/trusted-approvers';
import type { Database } from './database';
import { onlyRow } from './database';

export const approverStatements = {
  trusted: {
    name: 'approvers_trusted',
    text: `select trusted_approvers as trusted,
        (extract(epoch from clock_timestamp()) * 1000)::bigint as "nowMs" from waybill.settings`,
  },
} as const;

const Trust = z.object({ trusted: TrustedApprovers, nowMs: z.number() });

/** As published last; for any role that serves. @throws WaybillError `storage_unavailable` */
export async function readTrustedApprovers(database: Database): Promise<z.infer<typeof Trust>> {
  return Trust.parse(onlyRow(await database.query(approverStatements.trusted, [])));
}
