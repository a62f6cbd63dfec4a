/** Which addresses may be called, as the deployment's settings say. */
import { AddressPolicy } from '../schemas/target-addresses';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const targetAddressStatements = {
  read: {
    name: 'target_addresses',
    text: 'select target_addresses as policy from waybill.settings',
  },
} as const satisfies Record<string, Statement>;

/** How long a process goes by what it has read: a changed setting holds everywhere soon. */
const KEPT_MS = 5_000;

/**
 * The policy, read at most every five seconds. While the database cannot be read, the last one holds.
 * @throws WaybillError `storage_unavailable` when none was ever read
 */
export function addressPolicy(db: Database): () => Promise<AddressPolicy> {
  let known: AddressPolicy | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<AddressPolicy> | null = null;
  const read = async (): Promise<AddressPolicy> => {
    try {
      const row = onlyRow(await db.query(targetAddressStatements.read, []));
      known = AddressPolicy.parse(row['policy']);
      readAt = performance.now();
      return known;
    } catch (error) {
      if (known === null) throw error;
      return known;
    } finally {
      reading = null;
    }
  };
  return () => {
    if (known !== null && performance.now() - readAt < KEPT_MS) return Promise.resolve(known);
    reading ??= read();
    return reading;
  };
}
