/** Looks for planted secrets in whatever a run has left behind: as they are, and as they may be written. */
import type { Client } from '@temporalio/client';
import type { TestDatabase } from './test-database';
import { until } from './until';

/** A text that somebody could find a secret in, and where it was. */
export interface Found {
  readonly where: string;
  readonly text: string;
}

/** `where: name` of every secret that stands somewhere. */
export function finds(
  places: Iterable<Found>,
  secrets: Readonly<Record<string, string>>,
): string[] {
  const traces = Object.entries(secrets).map(([name, value]) => [name, tracesOf(value)] as const);
  const hits: string[] = [];
  for (const { where, text } of places) {
    for (const [name, forms] of traces) {
      if (forms.some((form) => text.includes(form))) hits.push(`${where}: ${name}`);
    }
  }
  return [...new Set(hits)].sort();
}

/** Plain, as JSON and URLs write it, in hex (which rows show bytes in), and within Base64 of more. */
export function tracesOf(value: string): string[] {
  const bytes = Buffer.from(value);
  const inside = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // What the bytes before and behind it have a part in is unknown.
    return text.slice(offset === 0 ? 0 : offset + 1, -1);
  });
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    bytes.toString('hex'),
    ...inside,
    ...inside.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ];
}

/** Every row of every table, bytes in hex. */
export async function rowsOf(db: TestDatabase): Promise<Found[]> {
  const tables = await db.rows<{ name: string }>(
    `select table_name as name from information_schema.tables
      where table_schema = 'waybill' and table_type = 'BASE TABLE' order by 1`,
  );
  const found: Found[] = [];
  for (const { name } of tables) {
    const rows = await db.rows<{ text: string }>(
      `select to_jsonb(t)::text as text from waybill.${name} t`,
    );
    found.push(...rows.map(({ text }) => ({ where: `table ${name}`, text })));
  }
  return found;
}

/** The history and the description of every workflow of these task queues, at least so many. */
export async function historiesOf(
  client: Client,
  queues: readonly string[],
  atLeast: number,
): Promise<Found[]> {
  const query = queues.map((queue) => `TaskQueue = '${queue}'`).join(' or ');
  const listed = await until('the workflows are listed', async () => {
    const all = [];
    for await (const one of client.workflow.list({ query })) all.push(one);
    return all.length >= atLeast ? all : null;
  });
  const found: Found[] = [];
  for (const { workflowId, runId } of listed) {
    const handle = client.workflow.getHandle(workflowId, runId);
    const told = [await handle.fetchHistory(), (await handle.describe()).raw];
    found.push({ where: `history ${workflowId}`, text: written(told) });
  }
  return found;
}

/** JSON, with bytes as the text that they are. */
function written(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (inner instanceof Uint8Array) return Buffer.from(inner).toString('utf8');
    // Node has made JSON of a buffer before it is asked.
    if (typeof inner === 'object' && inner !== null && 'type' in inner && inner.type === 'Buffer') {
      return Buffer.from((inner as unknown as { data: number[] }).data).toString('utf8');
    }
    return typeof inner === 'bigint' ? String(inner) : inner;
  });
}
