/** Looking an ingress up by its reference: the one read that has no tenant yet. */
import type { IngressRef } from '../domain/ids';
import { IngressConfig } from '../schemas/delivery-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const ingressStatements = {
  find: { name: 'ingress_find', text: 'select waybill.find_ingress($1) as ingress' },
} as const satisfies Record<string, Statement>;

/** Everything that receiving needs to know of an ingress; null when nobody listens there. */
export async function findIngress(db: Database, ref: IngressRef): Promise<IngressConfig | null> {
  const rows = await db.query(ingressStatements.find, [ref]);
  return IngressConfig.nullable().parse(onlyRow(rows)['ingress']);
}
