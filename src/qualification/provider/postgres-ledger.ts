/**
 * The controlled provider's records in a Postgres database of its own, under a login of its own. It also
 * writes down what was read, and of what it disclosed.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Database, Run, Statement } from '../../db/database';
import {
  AuditEntry,
  Effect,
  type Created,
  type EffectLedger,
  type NewEffect,
  type RecordRead,
} from '../../hosts/provider/ledger';

const NOW = `(extract(epoch from clock_timestamp()) * 1000)::bigint`;
const COLUMNS = `id, account, kind, reference, title, created_at_ms as "createdAtMs",
  case when cancelled_at_ms is not null then 'cancelled'
       when ends_at_ms > ${NOW} then 'running' else 'done' end as status`;

const SCHEMA = [
  `create table if not exists effects (
    id text primary key, account text not null, kind text not null, reference text, title text not null,
    idempotency_key text, created_at_ms bigint not null, ends_at_ms bigint not null,
    cancelled_at_ms bigint, unique (account, idempotency_key))`,
  'create index if not exists effects_by_reference on effects (account, reference)',
  `create table if not exists audit (
    seq bigint generated always as identity primary key, at_ms bigint not null, account text not null,
    operation text not null, effect_id text not null references effects)`,
  `create table if not exists approvals (
    seq bigint generated always as identity primary key, at_ms bigint not null, account text not null,
    approval text not null, effect_id text not null references effects)`,
  `create table if not exists record_reads (
    seq bigint generated always as identity primary key, at_ms bigint not null, account text not null,
    record_id text not null, disclosed boolean not null)`,
];

/** Makes its tables where there are none. */
export async function postgresLedger(database: Database): Promise<EffectLedger> {
  for (const text of SCHEMA) await database.query(statement(text), []);
  const all = async <Value>(schema: z.ZodType<Value>, text: string, values: readonly unknown[]) =>
    z.array(schema).parse(await database.query(statement(text), values));
  const find = async (account: string, id: string): Promise<Effect | null> => {
    const [found] = await all(
      Effect,
      `select ${COLUMNS} from effects where account = $1 and id = $2`,
      [account, id],
    );
    return found ?? null;
  };
  return {
    create: (wish) => database.transaction((run) => create(run, wish)),
    find,
    findByReference: (account, reference) =>
      all(
        Effect,
        `select ${COLUMNS} from effects where account = $1 and reference = $2
          order by created_at_ms, id limit 100`,
        [account, reference],
      ),
    cancel: async (account, id) => {
      await database.query(
        statement(`with stopped as (update effects set cancelled_at_ms = ${NOW} where account = $1
            and id = $2 and cancelled_at_ms is null and ends_at_ms > ${NOW} returning id)
          insert into audit (at_ms, account, operation, effect_id)
            select ${NOW}, $1, 'cancelled', id from stopped`),
        [account, id],
      );
      return await find(account, id);
    },
    audit: (afterSeq) =>
      all(
        AuditEntry,
        `select seq, at_ms as "atMs", audit.account, operation, effect_id as "effectId", reference
          from audit join effects on effects.id = effect_id where seq > $1 order by seq limit 1000`,
        [afterSeq],
      ),
    noteRead: async ({ account, recordId, disclosed }: RecordRead) => {
      const text = `insert into record_reads (at_ms, account, record_id, disclosed) values (${NOW}, $1, $2, $3)`;
      await database.query(statement(text), [account, recordId, disclosed]);
    },
    close: () => database.close(),
  };
}

/** The effect and its entry in one transaction; of two with one key the second waits for the first. */
async function create(run: Run, wish: NewEffect): Promise<Created> {
  const { account, kind, reference, title, idempotencyKey, durationMs, approval } = wish;
  const made = await run(
    statement(`insert into effects select $1, $2, $3, $4, $5, $6, n.ms, n.ms + $7, null
      from (select ${NOW} as ms) n on conflict (account, idempotency_key) do nothing
      returning ${COLUMNS}`),
    [randomUUID(), account, kind, reference, title, idempotencyKey, durationMs],
  );
  const [row] =
    made.length > 0
      ? made
      : await run(
          statement(`select ${COLUMNS} from effects where account = $1 and idempotency_key = $2`),
          [account, idempotencyKey],
        );
  const effect = Effect.parse(row);
  const same = effect.kind === kind && effect.title === title && effect.reference === reference;
  if (!same) return { kind: 'key_conflict' };
  const operation = made.length > 0 ? 'created' : 'repeated';
  await run(
    statement(
      `insert into audit (at_ms, account, operation, effect_id) values (${NOW}, $1, $2, $3)`,
    ),
    [account, operation, effect.id],
  );
  if (operation === 'created' && approval !== null) {
    await run(
      statement(
        `insert into approvals (at_ms, account, approval, effect_id) values (${NOW}, $1, $2, $3)`,
      ),
      [account, approval, effect.id],
    );
  }
  return { kind: operation, effect };
}

function statement(text: string): Statement {
  return { name: 'provider', text };
}
