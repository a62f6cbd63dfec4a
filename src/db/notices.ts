/**
 * Notices by which one process tells others that there is something for them (`LISTEN`, `NOTIFY`). They are
 * hints: one that is lost is made good by looking.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { tenantId, type TenantId } from '../domain/ids';
import { connection, type Database, type DatabaseOptions, type Statement } from './database';

/** Something waits for the loop of the express lane. What `waybill.ingest_deliveries` accepts tells it, too. */
const CHANNEL = 'waybill_express';

export const noticeStatements = {
  // Committed without waiting for the disk: it has nothing to lose.
  express: {
    name: 'notice_express',
    text: `select set_config('synchronous_commit', 'off', true), pg_notify('${CHANNEL}', tenant)
      from unnest($1::text[]) tenant`,
  },
} as const satisfies Record<string, Statement>;

/** @throws WaybillError `storage_unavailable` */
export async function noticeExpress(db: Database, tenants: readonly TenantId[]): Promise<void> {
  await db.query(noticeStatements.express, [tenants]);
}

export interface ListenOptions extends Pick<DatabaseOptions, 'url' | 'role'> {
  /**
   * Called with the tenant of each notice, and with null once for each connection: what came before it was
   * not heard.
   */
  readonly onNotice: (tenant: TenantId | null) => void;
  /** Told of each connection that broke or was refused; another one follows. */
  readonly onError: (error: Error) => void;
  readonly signal: AbortSignal;
}

const RECONNECT_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;

/** Listens on a connection of its own, and on another one when that breaks, until the signal. */
export async function listenExpress(options: ListenOptions): Promise<void> {
  const { signal, onError } = options;
  while (!signal.aborted) {
    await listenOnce(options).catch((error: unknown) => {
      onError(error instanceof Error ? error : new Error(String(error)));
    });
    await delay(RECONNECT_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function listenOnce({ url, role, onNotice, signal }: ListenOptions): Promise<void> {
  const client = new Client({
    ...connection({ url, role }),
    application_name: 'waybill-notices',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
  let stop = (): void => undefined;
  const over = new Promise<void>((resolve, reject) => {
    // A broken one may tell of it twice.
    client.on('error', reject);
    client.once('end', resolve);
    stop = resolve;
  });
  // It may break before anybody waits for it.
  over.catch(() => undefined);
  client.on('notification', ({ payload }) => {
    onNotice(payload === undefined || payload === '' ? null : tenantId(payload));
  });
  signal.addEventListener('abort', stop);
  try {
    // One that is ended while it connects, or asks, may never answer.
    await Promise.race([client.connect(), over]);
    if (signal.aborted) return;
    await Promise.race([client.query(`listen ${CHANNEL}`), over]);
    onNotice(null);
    await over;
  } finally {
    signal.removeEventListener('abort', stop);
    void client.end().catch(() => undefined);
  }
}
