/** What a command needs that works on the rows of all tenants. */
import type { Database } from '../../db/database';
import { checkDatabase } from '../../db/migrations';
import type { Config } from '../../schemas/config';
import { databaseSetting, openDatabase } from '../../workers/databases';
import { quietLog, surroundings } from './environment';
import { namingDatabase } from './storage';

/** Runs the work with a pool of role waybill_operations, on a schema that this build supports. */
export async function withOperations<Result>(
  work: (parts: { readonly operations: Database; readonly config: Config }) => Promise<Result>,
): Promise<Result> {
  const { config } = surroundings();
  const operations = openDatabase(config, 'waybill_operations', quietLog());
  try {
    return await namingDatabase(databaseSetting(config, 'waybill_operations'), async () => {
      await checkDatabase(operations, 'waybill_operations');
      return await work({ operations, config });
    });
  } finally {
    await operations.close();
  }
}
