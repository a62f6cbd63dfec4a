/** A change of the catalog as a publication makes it: alone among those who reserve. */
import { Client } from 'pg';
import type { QueryResultRow } from 'pg';
import type { TestDatabase } from '../../support/test-database';
import type { CatalogChange } from '../fixture';
import { postgresFixture } from '../postgres-fixture';

export async function changeAsPublication(db: TestDatabase, change: CatalogChange): Promise<void> {
  const client = new Client({ connectionString: db.url });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(`select pg_advisory_xact_lock(hashtextextended('waybill.publication', 0))`);
    const rows = async <R extends QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await client.query<R>(text, [...values])).rows;
    await postgresFixture({ ...db, rows }).change({ ...change, published: true });
    await client.query('commit');
  } finally {
    await client.end();
  }
}
