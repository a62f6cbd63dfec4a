/** What connections were last reported to be; all of it in the publication that follows from it. */
import { z } from 'zod';
import type { TenantKey } from '../schemas/catalog-rows';
import type { Run, Statement } from './database';

export const connectionReportStatements = {
  read: {
    name: 'connection_report_read',
    text: `select version, event_source as source, event_id as "eventId"
      from waybill.connection_reports where tenant_id = $1 and instance_id = $2`,
  },
  write: {
    name: 'connection_report_write',
    text: `insert into waybill.connection_reports
        (tenant_id, instance_id, version, state, event_source, event_id)
      values ($1, $2, $3, $4, $5, $6)
      on conflict (tenant_id, instance_id) do update
        set version = excluded.version, state = excluded.state,
            event_source = excluded.event_source, event_id = excluded.event_id,
            reported_at = clock_timestamp()`,
  },
} as const satisfies Record<string, Statement>;

const LastReport = z.object({ version: z.number(), source: z.string(), eventId: z.string() });
export type LastReport = z.infer<typeof LastReport>;

export async function readLastReport(
  run: Run,
  { tenant, id }: TenantKey,
): Promise<LastReport | null> {
  const [row] = await run(connectionReportStatements.read, [tenant, id]);
  return row === undefined ? null : LastReport.parse(row);
}

export async function writeReport(
  run: Run,
  { tenant, id }: TenantKey,
  report: LastReport & { readonly state: string },
): Promise<void> {
  const { version, state, source, eventId } = report;
  await run(connectionReportStatements.write, [tenant, id, version, state, source, eventId]);
}
