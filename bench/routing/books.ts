/** The books of courses over a site: their answers against its rows and counters. */
import type { Books } from '../ledger';
import type { PairCourse } from './course';
import type { Site } from './shapes';

/** Every reservation is an attempt, settled or open; every counter is the sum of the open ones. */
export async function closeRoutingBooks(
  books: Books,
  { database, disconnect }: Site,
  courses: Readonly<Record<string, PairCourse>>,
): Promise<void> {
  await disconnect();
  const rows = await database.counts(ROWS);
  const { attempts = 0, settled = 0, open = 0, completed = 0, owed = 0, before = 0 } = rows;
  let [reserved, closed, left] = [0, 0, 0];
  for (const [name, course] of Object.entries(courses)) {
    books.answers(`reservations of ${name}`, course.reserves);
    books.answers(`settlements of ${name}`, course.closes);
    reserved += course.reserves.taken;
    closed += course.closes.taken;
    left += course.open;
  }
  books.equal('reserved attempts', attempts, 'settled and open', settled + open);
  books.equal('attempts', attempts - before, 'reservations answered', reserved);
  books.equal('settled attempts', settled - before, 'settlements answered', closed);
  books.equal('open attempts', open, 'reserved and not settled', left);
  books.equal('completed actions', completed - before, 'settlements answered', closed);
  books.equal('held by counters', rows['held'], 'owed by open attempts', owed);
  books.equal('assigned to replicas', rows['busy'], 'open attempts', open);
  books.equal('counters that differ in the audit', rows['differ'], 'expected', 0);
  books.equal('actions with two open attempts', rows['twice'], 'expected', 0);
  books.equal('deadlocks', await deadlocks(database), 'expected', 0);
}

/** Since the database was made; of backends that have ended. */
export async function deadlocks(database: Site['database']): Promise<number> {
  const { deadlocks = Number.NaN } = await database.counts(
    `select deadlocks from pg_stat_database where datname = current_database()`,
  );
  return deadlocks;
}

/** `before`: what was there before any course, under ids of its own. */
const ROWS = `
  select (select count(*) from waybill.route_attempts) as attempts,
    (select count(*) from waybill.route_attempts where settled_at is not null) as settled,
    (select count(*) from waybill.route_attempts where settled_at is null) as open,
    (select count(*) from waybill.route_attempts where action_id like 'kept-%') as before,
    (select count(*) from waybill.actions where state = 'completed') as completed,
    (select coalesce(sum(held), 0) from waybill.quota_counters) as held,
    (select coalesce(sum(jsonb_array_length(counters)), 0) from waybill.route_attempts
      where settled_at is null) as owed,
    (select coalesce(sum(active_assignments), 0) from waybill.replicas) as busy,
    (select count(*) from waybill.counter_differences(1000)) as differ,
    (select count(*) from (select from waybill.route_attempts where settled_at is null
      group by tenant_id, action_id having count(*) > 1) twice) as twice`;
