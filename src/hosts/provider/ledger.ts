/**
 * What the controlled provider has done, in a SQLite file of its own: the outside truth that verdicts
 * about effects are taken from. Nothing of Waybill or of a host is in it.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { openSqlite, type SqliteDatabase } from '../sqlite';

export const Effect = z.object({
  id: z.string(),
  account: z.string(),
  kind: z.enum(['ticket', 'job']),
  reference: z.string().nullable(),
  title: z.string(),
  status: z.enum(['done', 'running', 'cancelled']),
  createdAtMs: z.number(),
});
export type Effect = z.infer<typeof Effect>;

export const AuditEntry = z.object({
  seq: z.number(),
  atMs: z.number(),
  account: z.string(),
  operation: z.enum(['created', 'repeated', 'cancelled']),
  effectId: z.string(),
  reference: z.string().nullable(),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

export interface NewEffect {
  readonly account: string;
  readonly kind: Effect['kind'];
  readonly reference: string | null;
  readonly title: string;
  /** The same key is the same effect. */
  readonly idempotencyKey: string | null;
  /** A job is under way for as long; a ticket is done at once. */
  readonly durationMs: number;
  /** Under which it is done, noted with the effect; null: none was named. */
  readonly approval: string | null;
}

export type Created =
  | { readonly kind: 'created' | 'repeated'; readonly effect: Effect }
  | { readonly kind: 'key_conflict' };

export interface RecordRead {
  readonly account: string;
  readonly recordId: string;
  /** Whether it was shown. */
  readonly disclosed: boolean;
}

type Sooner<Value> = Value | Promise<Value>;

/** Where a provider keeps what it has done; a call that throws has changed nothing. */
export interface EffectLedger {
  create(wish: NewEffect): Sooner<Created>;
  find(account: string, id: string): Sooner<Effect | null>;
  findByReference(account: string, reference: string): Sooner<Effect[]>;
  cancel(account: string, id: string): Sooner<Effect | null>;
  audit(afterSeq: number): Sooner<AuditEntry[]>;
  /** Where it is there, reads of records are written down, too. */
  noteRead?(read: RecordRead): Sooner<void>;
  close(): Sooner<void>;
}

const SCHEMA = `
  create table if not exists effects (
    id text primary key,
    account text not null,
    kind text not null,
    reference text,
    title text not null,
    idempotency_key text,
    created_at_ms integer not null,
    ends_at_ms integer not null,
    cancelled_at_ms integer,
    unique (account, idempotency_key)
  ) strict;
  create index if not exists effects_by_reference on effects (account, reference);
  create table if not exists audit (
    seq integer primary key,
    at_ms integer not null,
    account text not null,
    operation text not null,
    effect_id text not null references effects (id)
  ) strict;
  create table if not exists approvals (
    seq integer primary key,
    at_ms integer not null,
    account text not null,
    approval text not null,
    effect_id text not null references effects (id)
  ) strict;
`;

const COLUMNS = `id, account, kind, reference, title, created_at_ms as "createdAtMs",
  case when cancelled_at_ms is not null then 'cancelled'
       when ends_at_ms > @now then 'running' else 'done' end as status`;

export class Ledger implements EffectLedger {
  readonly #db: SqliteDatabase;
  readonly #nowMs: () => number;

  /** Opens the file, and makes it where there is none. */
  constructor(file: string, nowMs: () => number = Date.now) {
    this.#db = openSqlite(file, { busyTimeoutMs: 5_000 });
    this.#nowMs = nowMs;
    this.#db.exec('pragma journal_mode = wal');
    this.#db.exec('pragma synchronous = full');
    this.#db.exec(SCHEMA);
  }

  /** Takes the effect and notes it in the audit log, in one transaction. */
  create(wish: NewEffect): Created {
    return this.#db.immediate(() => this.#create(wish));
  }

  find(account: string, id: string): Effect | null {
    const sql = `select ${COLUMNS} from effects where account = @account and id = @id`;
    const row = this.#db.prepare(sql).get({ account, id, now: this.#nowMs() });
    return row === undefined ? null : Effect.parse(row);
  }

  /** The oldest 100 of an account with this reference. */
  findByReference(account: string, reference: string): Effect[] {
    const sql = `select ${COLUMNS} from effects where account = @account and reference = @reference
      order by created_at_ms, id limit 100`;
    const rows = this.#db.prepare(sql).all({ account, reference, now: this.#nowMs() });
    return z.array(Effect).parse(rows);
  }

  /** Stops a job that is still running; null where there is none of that id. */
  cancel(account: string, id: string): Effect | null {
    const change = this.#db.prepare(
      `update effects set cancelled_at_ms = @now where account = @account and id = @id
       and cancelled_at_ms is null and ends_at_ms > @now`,
    );
    this.#db.immediate(() => {
      const { changes } = change.run({ account, id, now: this.#nowMs() });
      if (changes === 1) this.#note(account, 'cancelled', id);
    });
    return this.find(account, id);
  }

  /** Entries after `afterSeq`, oldest first, at most 1,000; of all accounts. */
  audit(afterSeq: number): AuditEntry[] {
    const rows = this.#db
      .prepare(
        `select seq, at_ms as "atMs", audit.account, operation, effect_id as "effectId", reference
         from audit join effects on effects.id = effect_id
         where seq > ? order by seq limit 1000`,
      )
      .all(afterSeq);
    return z.array(AuditEntry).parse(rows);
  }

  close(): void {
    this.#db.close();
  }

  #create(wish: NewEffect): Created {
    const { account, kind, reference, title, idempotencyKey } = wish;
    const known = this.#byKey(account, idempotencyKey);
    if (known !== null) {
      const same = known.kind === kind && known.title === title && known.reference === reference;
      if (!same) return { kind: 'key_conflict' };
      this.#note(account, 'repeated', known.id);
      return { kind: 'repeated', effect: known };
    }
    const id = randomUUID();
    const now = this.#nowMs();
    this.#db
      .prepare('insert into effects values (?, ?, ?, ?, ?, ?, ?, ?, null)')
      .run(id, account, kind, reference, title, idempotencyKey, now, now + wish.durationMs);
    this.#note(account, 'created', id);
    if (wish.approval !== null) this.#noteApproval(account, wish.approval, id);
    const status = wish.durationMs > 0 ? 'running' : 'done';
    const effect: Effect = { id, account, kind, reference, title, status, createdAtMs: now };
    return { kind: 'created', effect };
  }

  #byKey(account: string, key: string | null): Effect | null {
    if (key === null) return null;
    const sql = `select ${COLUMNS} from effects where account = @account and idempotency_key = @key`;
    const row = this.#db.prepare(sql).get({ account, key, now: this.#nowMs() });
    return row === undefined ? null : Effect.parse(row);
  }

  #noteApproval(account: string, approval: string, effectId: string): void {
    this.#db
      .prepare('insert into approvals (at_ms, account, approval, effect_id) values (?, ?, ?, ?)')
      .run(this.#nowMs(), account, approval, effectId);
  }

  #note(account: string, operation: AuditEntry['operation'], effectId: string): void {
    this.#db
      .prepare('insert into audit (at_ms, account, operation, effect_id) values (?, ?, ?, ?)')
      .run(this.#nowMs(), account, operation, effectId);
  }
}
