/** Databases of a benchmark: made on the server of the run, dropped at its end. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

export interface BenchDatabase {
  /** The administrator's. */
  readonly url: string;
  /** Counts by name, from a statement that answers one row of numbers. */
  counts(text: string): Promise<Readonly<Record<string, number>>>;
  /** How many deliveries of Waybill there are that match a condition in SQL. */
  deliveries(condition: string): Promise<number>;
  run(text: string): Promise<void>;
  /** The rows of a statement, as the driver gives them. */
  rows(text: string, values: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  drop(): Promise<void>;
}

/** An empty database on the server that `serverUrl` (an administrator's) names. */
export async function createDatabase(serverUrl: string): Promise<BenchDatabase> {
  const name = `waybill_bench_${randomBytes(6).toString('hex')}`;
  await asAdmin(serverUrl, (client) => client.query(`create database ${name}`));
  const url = withDatabase(serverUrl, name);
  const client = new Client({ connectionString: url, application_name: 'waybill-bench' });
  // A connection that breaks fails the next statement, not the process.
  client.on('error', () => undefined);
  await client.connect();
  const counts: BenchDatabase['counts'] = async (text) => {
    const { rows } = await client.query<Record<string, unknown>>(text);
    const found = Object.entries(rows[0] ?? {});
    return Object.fromEntries(found.map(([key, count]) => [key, Number(count)]));
  };
  return {
    ...{ url, counts },
    deliveries: async (condition) => {
      const text = `select count(*) as all from waybill.deliveries where ${condition}`;
      return (await counts(text))['all'] ?? 0;
    },
    run: async (text) => {
      await client.query(text);
    },
    rows: async (text, values) => {
      const { rows } = await client.query<Record<string, unknown>>(text, [...values]);
      return rows;
    },
    drop: async () => {
      await client.end();
      await asAdmin(serverUrl, (admin) => admin.query(`drop database ${name} with (force)`));
    },
  };
}

/** What the server promises of a commit, as it says itself. */
export async function durabilityOf(serverUrl: string): Promise<string> {
  const settings = ['server_version', 'fsync', 'synchronous_commit', 'full_page_writes'] as const;
  return await asAdmin(serverUrl, async (client) => {
    const shown = await client.query<Record<string, string>>(
      `select ${settings.map((name) => `current_setting('${name}') as ${name}`).join(', ')}`,
    );
    const [version = '', ...others] = settings.map((name) => shown.rows[0]?.[name] ?? 'unknown');
    const told = others.map((setting, at) => `${settings[at + 1] ?? ''}=${setting}`);
    return `Postgres ${version.split(' ')[0] ?? ''}, ${told.join(', ')}`;
  });
}

async function asAdmin<Result>(
  url: string,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: url, application_name: 'waybill-bench' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.toString();
}
