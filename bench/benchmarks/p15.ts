/**
 * P15, the durable lane: deliveries a second from the request to the acknowledged delivery, by
 * `waybill api` and `waybill worker`; beside them an HTTP server that inserts the body and starts a
 * one-activity workflow that makes the same signed call, with the same worker settings.
 */
import { closing, type Bench, type Benchmark } from '../benchmark';
import { startCourses, type Courses } from '../courses';
import { Books } from '../ledger';
import { measureThroughput, type Throughput } from '../throughput';

const THROUGHPUT: Throughput = {
  id: 'P15',
  what: 'durable deliveries, accept to acknowledged',
  deliveries: 256,
  warmUp: 64,
  goalRatio: 0.9,
  closeBooks,
};

export const p15: Benchmark = {
  id: 'P15',
  what: 'durable deliveries, accept to acknowledged, against insert and one-activity workflow',
  run: (bench) =>
    closing(async (closers) => [
      await measureThroughput(
        bench,
        await startCourses(bench, closers, { name: 'p15' }),
        THROUGHPUT,
      ),
    ]),
};

async function closeBooks(bench: Bench, { value, baseline }: Courses): Promise<Books> {
  const rows = await value.database.counts(`
    select count(*) as all,
      count(*) filter (where state = 'Acknowledged') as acknowledged,
      count(*) filter (where state = 'Failed') as failed,
      count(*) filter (where state not in ('Acknowledged', 'Failed')) as pending,
      (select count(*) from waybill.delivery_attempts where outcome = 'acknowledged') as attempts,
      (select count(*) from waybill.delivery_attempts) as all_attempts
    from waybill.deliveries`);
  const { acknowledged = 0, failed = 0, pending = 0 } = rows;
  const bare = await baseline.database.counts('select count(*) as all from floor_deliveries');
  const completed = await bench.environment.temporal.count(baseline.taskQueue, 'Completed');
  const books = new Books();
  books.answers('requests', value.answers);
  books.answers('requests of the baseline', baseline.answers);
  const { accepted } = value.answers;
  books.equal('failed and pending', failed + pending, 'of those that must all succeed', 0);
  books.equal('rows', rows['all'], 'accepted', accepted);
  books.equal('acknowledged attempts', rows['attempts'], 'acknowledged', acknowledged);
  books.equal('deliveries at the target', value.target.deliveries, 'acknowledged', acknowledged);
  books.equal('attempts', rows['all_attempts'], 'calls at the target', value.target.calls);
  books.equal('rows of the baseline', bare['all'], 'its accepted', baseline.answers.accepted);
  books.equal('its closed workflows', completed, 'its accepted', baseline.answers.accepted);
  books.equal('calls at its target', baseline.target.calls, 'accepted', baseline.answers.accepted);
  return books;
}
