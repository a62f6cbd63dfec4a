/**
 * The embedded store: one SQLite file. WAL with synchronous=FULL syncs every commit, so what was
 * answered survives a power cut; the exclusive lock keeps a second process out of the same file.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { WaybillError } from '../../../domain/errors';
import { FinalOutcomeSchema } from '../../../schemas/host-messages';
import { isBusy, openSqlite, type SqliteDatabase, type SqliteStatement } from '../../sqlite';
import type { ActionRecord, ActionRef, HostStore } from '../store';
import { settled } from './settled';

const SCHEMA = `
  create table if not exists meta (name text primary key, value text not null) strict;
  create table if not exists actions (
    tenant text not null,
    action text not null,
    highest_fence integer not null,
    sealed integer not null,
    state text not null check (state in ('fenced', 'intent', 'finished')),
    work text,
    outcome text,
    changed_at_ms integer not null,
    primary key (tenant, action),
    check ((state = 'finished') = (outcome is not null)),
    check (state <> 'intent' or work is not null)
  ) strict;
  create index if not exists actions_by_age on actions (changed_at_ms) where state <> 'intent';
  create table if not exists tokens (
    jti text primary key,
    expires_at_ms integer not null
  ) strict, without rowid;
  create index if not exists tokens_by_age on tokens (expires_at_ms);
`;

const Work = z.object({
  capability: z.string(),
  requestSha256: z.string(),
  request: z.string().nullable(),
  credentialRevision: z.string(),
  approval: z.string().nullable(),
  intentAtMs: z.number(),
  tries: z.number(),
});
const Row = z
  .object({
    highest_fence: z.number(),
    sealed: z.number(),
    state: z.enum(['fenced', 'intent', 'finished']),
    work: z.string().nullable(),
    outcome: z.string().nullable(),
  })
  .transform((row): ActionRecord => {
    const { work, outcome } = row;
    return {
      highestFence: row.highest_fence,
      sealed: row.sealed === 1,
      state: row.state,
      work: work === null ? null : Work.parse(JSON.parse(work)),
      outcome: outcome === null ? null : FinalOutcomeSchema.parse(JSON.parse(outcome)),
    };
  });
const Meta = z.object({ value: z.string() });

/**
 * Opens the store in `file`, and makes it where there is none: that is a new epoch.
 * @throws WaybillError `store_in_use` when another process has it open, `config_invalid` when it cannot
 *   be opened at all
 */
export function sqliteStore(file: string, nowMs: () => number = Date.now): HostStore {
  const db = open(file);
  const statements = prepare(db);
  const readRecord = ({ tenant, action }: ActionRef): ActionRecord | null => {
    const row = statements.read.get(tenant, action);
    return row === undefined ? null : Row.parse(row);
  };
  return {
    epoch: readMeta(db, 'epoch') ?? '',
    // The whole of it runs before anything else of this process can: that makes it a promise.
    update: async (ref, token, decide) =>
      await settled(() =>
        db.immediate(() => {
          const { jti, expiresAtMs } = token ?? { jti: '', expiresAtMs: 0 };
          const fresh = token === null || statements.use.run(jti, expiresAtMs).changes === 1;
          const { record, answer } = decide(readRecord(ref), !fresh);
          if (record !== null) statements.write.run(columnsOf(ref, record, nowMs()));
          return answer;
        }),
      ),
    read: async (ref) => await settled(() => readRecord(ref)),
    lifecycleSequence: async () => await settled(() => Number(readMeta(db, 'sequence') ?? '0')),
    rememberLifecycleSequence: async (sequence) => {
      await settled(() => statements.note.run('sequence', String(sequence)));
    },
    prune: async ({ nowMs: now, changedBeforeMs, limit }) =>
      await settled(() => {
        statements.forgetTokens.run(now, limit);
        return statements.forgetActions.run(changedBeforeMs, limit).changes;
      }),
    close: async () => {
      await settled(() => {
        db.close();
      });
    },
  };
}

function open(file: string): SqliteDatabase {
  try {
    return openOwn(file);
  } catch (error) {
    if (isBusy(error)) {
      throw new WaybillError('store_in_use', `another process has ${file} open`, { cause: error });
    }
    const reason = error instanceof Error ? error.message : 'unreadable';
    throw new WaybillError('config_invalid', `${file}: ${reason}`, { cause: error });
  }
}

function openOwn(file: string): SqliteDatabase {
  const db = openSqlite(file, { busyTimeoutMs: 5_000 });
  db.exec('pragma locking_mode = exclusive');
  db.exec('pragma journal_mode = wal');
  db.exec('pragma synchronous = full');
  db.exec(SCHEMA);
  db.prepare('insert or ignore into meta values (?, ?)').run('epoch', randomUUID());
  return db;
}

function prepare(db: SqliteDatabase): Readonly<Record<StatementName, SqliteStatement>> {
  return {
    read: db.prepare(
      `select highest_fence, sealed, state, work, outcome from actions
       where tenant = ? and action = ?`,
    ),
    note: db.prepare('insert or replace into meta values (?, ?)'),
    use: db.prepare('insert or ignore into tokens values (?, ?)'),
    write: db.prepare(
      `insert or replace into actions
       values (@tenant, @action, @fence, @sealed, @state, @work, @outcome, @changedAtMs)`,
    ),
    forgetTokens: db.prepare(
      `delete from tokens where jti in
       (select jti from tokens where expires_at_ms < ? order by expires_at_ms limit ?)`,
    ),
    forgetActions: db.prepare(
      `delete from actions where rowid in
       (select rowid from actions where state <> 'intent' and changed_at_ms < ?
        order by changed_at_ms limit ?)`,
    ),
  };
}
type StatementName = 'read' | 'note' | 'use' | 'write' | 'forgetTokens' | 'forgetActions';

function columnsOf(
  { tenant, action }: ActionRef,
  { highestFence, sealed, state, work, outcome }: ActionRecord,
  changedAtMs: number,
): Readonly<Record<string, string | number | null>> {
  return {
    tenant,
    action,
    fence: highestFence,
    sealed: sealed ? 1 : 0,
    state,
    work: work === null ? null : JSON.stringify(work),
    outcome: outcome === null ? null : JSON.stringify(outcome),
    changedAtMs,
  };
}

function readMeta(db: SqliteDatabase, name: string): string | null {
  const row = db.prepare('select value from meta where name = ?').get(name);
  return row === undefined ? null : Meta.parse(row).value;
}
