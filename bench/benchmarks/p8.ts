/**
 * P8, everything at once: for a minute one tenant's workers reserve, reserve again, settle, repeat and
 * abandon, while its hosts renew their leases, drain, fall silent and come back, the sweep ends what is
 * overdue, and the catalog is published twice a second with other limits.
 */
import { setMaxListeners } from 'node:events';
import { registryAdministrator, fleetStatusProvider } from '../../src/db/replicas';
import { counterDifferences } from '../../src/db/route-upkeep';
import { WaybillError } from '../../src/domain/errors';
import type { Closers } from '../../src/workers/closers';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { Books } from '../ledger';
import { spreadOf } from '../rounds';
import { deadlocks } from '../routing/books';
import { playCaller } from '../routing/mixed/callers';
import { pause, playHost } from '../routing/mixed/hosts';
import { Tally } from '../routing/mixed/tally';
import { overAdmissions, watchAdmissions } from '../routing/mixed/witness';
import { INSTANCE, type Shape, type Site } from '../routing/shapes';
import { laySite } from '../routing/site';

const DURATION_MS = 60_000;
const CALLERS = 24;
const SAMPLE_MS = 500;
const SWEEP_MS = 100;
const PUBLISH_MS = 500;
const SILENCE_MS = 1_600;
/** Until the sweep has ended what nobody settles. */
const DRAIN_MS = 30_000;

/** Less of everything than the callers ask for. */
const SHAPE: Shape = {
  ...{ tenants: 1, capabilities: 2, replicas: 6, capacity: 4, retained: 50_000 },
  limits: { binding: 12, instance: 18, connector: 18, tenantRetry: 4, tenant: 16, global: 16 },
};
const LOWER = { binding: 8, instance: 12, connector: 12, tenantRetry: 2, tenant: 10, global: 10 };

export const p8: Benchmark = {
  id: 'P8',
  what: 'deadlocks, over-admissions and leaks in a minute of everything at once on one tenant',
  run: (bench) => closing(async (closers) => [await measure(bench, closers)]),
};

async function measure(bench: Bench, closers: Closers): Promise<Figure> {
  const { environment, signal, progress } = bench;
  const site = await laySite({ environment, closers, shape: SHAPE });
  await watchAdmissions(site.database);
  await site.publish([{ kind: 'Settings', replicaLease: '1s', replicaHysteresis: 1 }]);
  const tally = new Tally();
  const over = overAfter(DURATION_MS, signal);
  progress(`P8: ${DURATION_MS / 1000} seconds of everything at once`);
  const differing = { samples: 0, counters: 0 };
  const started = performance.now();
  await Promise.all([
    ...callers(site, tally, over),
    ...hosts(site, tally, over),
    repeat(SWEEP_MS, over, tally, sweeping(site, tally)),
    repeat(PUBLISH_MS, over, tally, publishing(site, tally)),
    repeat(SAMPLE_MS, over, tally, sampling(site, differing)),
  ]);
  const seconds = (performance.now() - started) / 1000;
  signal.throwIfAborted();
  await settleAll(site, signal);
  return await figureOf(site, { tally, differing, seconds });
}

/** A timer that is held, unlike the one of `AbortSignal.timeout`, which may be collected as garbage. */
function overAfter(ms: number, signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  // Everybody who plays waits for it.
  setMaxListeners(0, controller.signal);
  const end = () => {
    controller.abort();
  };
  setTimeout(end, ms).unref();
  signal.addEventListener('abort', end, { once: true });
  return controller.signal;
}

function callers(site: Site, tally: Tally, over: AbortSignal): Promise<void>[] {
  const db = site.as('waybill_data', CALLERS);
  let nth = 0;
  const options = { db, tenant: 't0', capabilityOf: (n: number) => `c${n % 2}`, tally };
  const next = () => (nth += 1);
  return Array.from({ length: CALLERS }, () => playCaller(options, next, over));
}

function hosts(site: Site, tally: Tally, over: AbortSignal): Promise<void>[] {
  const fleet = registryAdministrator(site.as('waybill_lifecycle', SHAPE.replicas));
  return Array.from({ length: SHAPE.replicas }, (_, at) =>
    playHost(
      { fleet, replicaId: `t0-r${at}`, phase: 1 + 5 * at, silenceMs: SILENCE_MS, tally },
      over,
    ).catch((error: unknown) => {
      tally.fail(error);
    }),
  );
}

function sweeping(site: Site, tally: Tally): () => Promise<void> {
  const fleet = fleetStatusProvider(site.as('waybill_operations', 1));
  return async () => {
    const { offline, settled } = await fleet.sweep(100);
    if (offline > 0) tally.note('sweep', 'offline');
    if (settled > 0) tally.note('sweep', 'settled');
  };
}

/** By turns fewer and more of each; what is held above a lowered limit comes back by itself. */
function publishing({ publish }: Site, tally: Tally): () => Promise<void> {
  let turn = 0;
  return async () => {
    turn += 1;
    const limits = turn % 2 === 0 ? SHAPE.limits : LOWER;
    const priority = 100 + (turn % 3);
    try {
      await publish([
        { kind: 'QuotaPolicy', id: 'counted', limits },
        {
          ...{ kind: 'Binding', tenant: 't0', capability: 'c0', instance: INSTANCE, priority },
          ...{ credentialRevision: 'r1', quotaPolicy: 'counted', policyRevision: turn + 1 },
        },
      ]);
      tally.note('publish', 'done');
    } catch (error) {
      if (!(error instanceof WaybillError) || error.code !== 'publication_busy') throw error;
      tally.note('publish', 'busy');
    }
  };
}

/** As of one instant, while all goes on. */
function sampling(site: Site, differing: { samples: number; counters: number }) {
  const operations = site.as('waybill_operations', 1);
  return async () => {
    differing.samples += 1;
    differing.counters += (await counterDifferences(operations, 1_000)).length;
  };
}

async function repeat(
  everyMs: number,
  over: AbortSignal,
  tally: Tally,
  work: () => Promise<void>,
): Promise<void> {
  while (!over.aborted) {
    await work().catch((error: unknown) => {
      tally.fail(error);
    });
    await pause(everyMs, over);
  }
}

/** Nobody renews a lease any more: the sweep takes the hosts offline, and gives back what is open. */
async function settleAll(site: Site, signal: AbortSignal): Promise<void> {
  const fleet = fleetStatusProvider(site.as('waybill_operations', 1));
  const until = performance.now() + DRAIN_MS;
  while (performance.now() < until) {
    await fleet.sweep(100);
    const { open } = await site.database.counts(
      'select count(*) as open from waybill.route_attempts where settled_at is null',
    );
    if (open === 0) return;
    await pause(SWEEP_MS, signal);
  }
}

interface Minute {
  readonly tally: Tally;
  readonly differing: { readonly samples: number; readonly counters: number };
  readonly seconds: number;
}

async function figureOf(site: Site, { tally, differing, seconds }: Minute): Promise<Figure> {
  const { database } = site;
  await site.disconnect();
  const rows = await database.counts(LEFT);
  const found = {
    deadlocks: await deadlocks(database),
    'over-admissions': await overAdmissions(database),
    'counters that differed in a sample': differing.counters,
    'still held by counters': rows['held'] ?? Number.NaN,
    'still assigned to replicas': rows['busy'] ?? Number.NaN,
  };
  const books = new Books();
  const { attempts = 0, settled = 0, open = 0 } = rows;
  books.equal('reserved attempts', attempts, 'settled and open', settled + open);
  books.equal('open attempts', open, 'expected', 0);
  books.equal('calls that failed', tally.failures.length, 'expected', 0);
  const reserved = tally.of('reserve', 'reserved') + tally.of('re-reserve', 'reserved');
  books.equal('attempts', attempts - SHAPE.retained, 'reservations answered', reserved);
  const faults = Object.values(found).reduce((sum, one) => sum + one, 0);
  return {
    ...{ id: 'P8', what: 'everything at once on one tenant', unit: 'faults a minute' },
    ...{ value: spreadOf([faults]), baseline: null, ratios: null },
    goal: { of: 'value', atMost: 0 },
    success: { value: tally.failures.length === 0 ? 1 : 0, baseline: null },
    imbalances: books.imbalances,
    notes: [
      Object.entries(found)
        .map(([name, count]) => `${count} ${name}`)
        .join(', '),
      `${seconds.toFixed(0)} s, ${CALLERS} callers, ${SHAPE.replicas} hosts, ${differing.samples} ` +
        `samples; ${String(tally)}`,
      ...[...new Set(tally.failures)].slice(0, 5).map((failure) => `failed: ${failure}`),
    ],
  };
}

const LEFT = `
  select (select count(*) from waybill.route_attempts) as attempts,
    (select count(*) from waybill.route_attempts where settled_at is not null) as settled,
    (select count(*) from waybill.route_attempts where settled_at is null) as open,
    (select coalesce(sum(held), 0) from waybill.quota_counters) as held,
    (select coalesce(sum(active_assignments + probes), 0) from waybill.replicas) as busy`;
