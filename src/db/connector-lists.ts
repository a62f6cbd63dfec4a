/** Connector versions as a tenant sees them. */
import type { TenantId } from '../domain/ids';
import { ConnectorDescriptor } from '../schemas/api-connectors';
import type { Database, Statement } from './database';

export const connectorListStatements = {
  page: {
    name: 'connector_page',
    text: 'select waybill.connector_page($1, $2, $3, $4) as connector',
  },
} as const satisfies Record<string, Statement>;

export interface ConnectorWish {
  readonly tenantId: TenantId;
  readonly connectorId: string | null;
  readonly state: string | null;
  /** Connector and version of the last one before. */
  readonly after: readonly [string, string] | null;
  readonly limit: number;
}

export async function listConnectors(
  db: Database,
  { tenantId, connectorId, state, after, limit }: ConnectorWish,
): Promise<ConnectorDescriptor[]> {
  const filter = JSON.stringify({ connectorId, state });
  const values = [tenantId, filter, after && JSON.stringify(after), limit];
  const rows = await db.query(connectorListStatements.page, values);
  return rows.map((row) => ConnectorDescriptor.parse(row['connector']));
}
