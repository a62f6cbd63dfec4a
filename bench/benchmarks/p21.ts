/**
 * P21, lists: filtered pages of deliveries, read as the API reads them, in a tenant that has two million;
 * beside it one that has 200,000.
 */
import { Database } from '../../src/db/database';
import { listDeliveries, type ListPosition } from '../../src/db/delivery-lists';
import { deliveryId, tenantId } from '../../src/domain/ids';
import type { DeliveryFilters } from '../../src/schemas/api-deliveries';
import type { Closers } from '../../src/workers/closers';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { deploy, INGRESS_SECRET, POOL_SIZE } from '../deployment';
import { Answers, Books } from '../ledger';
import { copyRows } from '../routing/copies';
import { percentile, playRounds } from '../rounds';
import { inClosedLoop, SENDERS, Senders } from '../senders';
import { WebhookStream } from '../webhooks';

const MANY = 2_000_000;
const FEW = 200_000;
/** A page, and one row more, which says whether there is another page. */
const LIMIT = 51;
const PAGES = 2_000;
const GOAL_RATIO = 0.9;

export const p21: Benchmark = {
  id: 'P21',
  what: 'filtered pages of 2,000,000 deliveries, against of 200,000',
  run: (bench) => closing(async (closers) => [await measure(bench, closers)]),
};

interface Asked {
  readonly filters: DeliveryFilters;
  readonly after: ListPosition | null;
  /** Rows of the page. */
  readonly rows: number;
}

interface Shelf {
  readonly db: Database;
  readonly asked: readonly Asked[];
  readonly latenciesMs: number[];
  read: number;
  wrong: number;
}

async function measure(bench: Bench, closers: Closers): Promise<Figure> {
  const many = await fill(bench, closers, MANY);
  const few = await fill(bench, closers, FEW);
  const rate = (shelf: Shelf) => async () => {
    const pages = Array.from({ length: PAGES }, (_, nth) => nth);
    const ms = await inClosedLoop(pages, bench.signal, (nth) => page(shelf, nth));
    return (PAGES / ms) * 1000;
  };
  for (const shelf of [many, few]) {
    await rate(shelf)();
    shelf.latenciesMs.length = 0;
  }
  const sides = { value: rate(many), baseline: rate(few) };
  const [played] = await playRounds([sides], bench.rounds, (round) => {
    bench.progress(`P21 round ${round} of ${bench.rounds}`);
  });
  if (played === undefined) throw new Error('P21 was not played');
  const books = new Books();
  books.equal('pages of other rows than there are', many.wrong, 'expected', 0);
  books.equal('pages of the baseline of other rows', few.wrong, 'expected', 0);
  const p95 = ({ latenciesMs }: Shelf): string => percentile(latenciesMs, 0.95).toFixed(1);
  return {
    ...{ id: 'P21', what: `filtered pages of ${MANY} deliveries`, unit: 'pages/s' },
    ...played,
    goal: { of: 'ratio', atLeast: GOAL_RATIO },
    success: { value: share(many), baseline: share(few) },
    imbalances: books.imbalances,
    notes: [
      `${SENDERS} readers in a closed loop over ${POOL_SIZE} connections, ${PAGES} pages a round of ` +
        `${many.asked.length} kinds; a page p95 ${p95(many)} ms, baseline ${p95(few)} ms`,
    ],
  };
}

async function page(shelf: Shelf, nth: number): Promise<void> {
  const asked = shelf.asked[nth % shelf.asked.length];
  if (asked === undefined) throw new Error('nothing is asked for');
  const { filters, after, rows } = asked;
  const started = performance.now();
  const request = { tenantId: tenantId('bench'), filters, after, limit: LIMIT };
  const found = await listDeliveries(shelf.db, request);
  shelf.latenciesMs.push(performance.now() - started);
  shelf.read += 1;
  if (found.length !== rows) shelf.wrong += 1;
}

function share({ read, wrong }: Shelf): number {
  return read === 0 ? 0 : (read - wrong) / read;
}

/** One delivery that came in over HTTP, and copies of it, a second apart, the newest last. */
async function fill({ environment, signal, progress }: Bench, closers: Closers, count: number) {
  progress(`P21: making ${count} deliveries`);
  const { database, ingressUrl } = await deploy({ environment, closers, name: `p21-${count}` });
  const sender = new Senders(ingressUrl, signal);
  closers.add(() => sender.close());
  const answers = new Answers();
  await sender.send(new WebhookStream(INGRESS_SECRET, 0).take(1), answers);
  if (answers.accepted !== 1) throw new Error('the first delivery was refused');
  const past = `timestamptz '2026-01-01Z' + n * interval '1 second'`;
  const bad = 'n % 50 = 0';
  const copies = {
    table: 'deliveries',
    of: `generate_series(1, ${count}) n`,
    set: {
      delivery_id: `('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid`,
      received_at: past,
      settled_at: past,
      verified_at: past,
      attend_at: 'null',
      external_id: `'vendor-' || n`,
      dedup_key: `'vendor-' || n`,
      event_type: `case when n % 10 = 0 then 'release' else 'push' end`,
      connector_id: `case when n % 4 = 0 then 'gitlab' else 'github' end`,
      subscription_id: `case when n <= 40 then 'rare' else 'pushes' end`,
      state: `case when n % 200 = 0 then 'Rejected' when ${bad} then 'Failed' else 'Acknowledged' end`,
      reason: `case when n % 200 = 0 then 'signature_mismatch' when ${bad} then
        case when n <= 1000 then 'timed_out' else 'permanent_refusal' end end`,
      payload_sha256: `sha256(convert_to('payload-' || n, 'UTF8'))`,
      version: '4',
      attempts: '1',
    },
  };
  await copyRows(database.url, [copies]);
  await database.run('vacuum analyze waybill.deliveries');
  await database.run('checkpoint');
  const db = readers(database.url);
  closers.add(() => db.close());
  return { db, asked: askedOf(count), latenciesMs: [], read: 0, wrong: 0 } satisfies Shelf;
}

function readers(url: string): Database {
  return new Database({
    ...{ url, role: 'waybill_data', maxConnections: POOL_SIZE, statementTimeoutMs: 30_000 },
    ...{ applicationName: 'waybill-bench', preparedStatements: 'on' },
    onIdleError: () => undefined,
  });
}

/** What operators ask for; the last pages are as far back as there are rows. */
function askedOf(count: number): readonly Asked[] {
  const place = (nth: number): ListPosition => ({
    receivedAt: new Date(Date.UTC(2026, 0, 1) + nth * 1_000).toISOString(),
    deliveryId: deliveryId(`00000000-0000-7000-8000-${nth.toString(16).padStart(12, '0')}`),
  });
  const asked = (filters: DeliveryFilters, rows = LIMIT, after: ListPosition | null = null) => ({
    ...{ filters, rows, after },
  });
  return [
    asked({}),
    asked({}, LIMIT, place(count / 2)),
    asked({}, 9, place(10)),
    asked({ state: 'Failed' }),
    asked({ state: 'Rejected' }),
    asked({ state: 'Failed' }, LIMIT, place(count / 2)),
    asked({ state: 'Dispatched' }, 0),
    asked({ connector: 'gitlab' }),
    asked({ connector: 'gitlab', state: 'Acknowledged' }),
    asked({ subscription: 'rare' }, 40),
    asked({ reason: 'timed_out' }, 15),
    asked({ reason: 'signature_mismatch' }),
    asked({ eventType: 'release' }),
    asked({ externalId: 'vendor-77' }, 1),
    asked({ receivedFrom: place(100).receivedAt, receivedTo: place(130).receivedAt }, 30),
    asked({ direction: 'inbound', state: 'Failed', connector: 'gitlab' }),
  ];
}
