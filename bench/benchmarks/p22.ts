/**
 * P22, the express lane: deliveries a second from the request to the acknowledged delivery, by `waybill api`
 * and `waybill worker`; beside them the floor relay, an HTTP server that inserts the body and makes the same
 * signed call, and does nothing else.
 */
import { closing, type Bench, type Benchmark } from '../benchmark';
import { startCourses, type Courses } from '../courses';
import { Books } from '../ledger';
import { measureThroughput, type Throughput } from '../throughput';

const THROUGHPUT: Throughput = {
  id: 'P22',
  what: 'express deliveries, accept to acknowledged',
  deliveries: 4_096,
  warmUp: 1_024,
  goalRatio: 0.45,
  closeBooks: closeExpressBooks,
};

export const p22: Benchmark = {
  id: 'P22',
  what: 'express deliveries, accept to acknowledged, against a floor relay',
  run: (bench) =>
    closing(async (closers) => [
      await measureThroughput(
        bench,
        await startCourses(bench, closers, { name: 'p22', lane: 'express' }),
        THROUGHPUT,
      ),
    ]),
};

/** Each delivery was attempted once and acknowledged, without a workflow; the relay called once for each. */
export async function closeExpressBooks(
  bench: Bench,
  { value, baseline }: Courses,
): Promise<Books> {
  const rows = await value.database.counts(`
    select count(*) as all, count(*) filter (where state = 'Acknowledged') as acknowledged,
      count(*) filter (where driver = 'loop') as alone,
      (select count(*) from waybill.delivery_attempts where outcome = 'acknowledged') as attempts,
      (select count(*) from waybill.receipts) as receipts
    from waybill.deliveries`);
  const bare = await baseline.database.counts('select count(*) as all from floor_deliveries');
  const workflows = await bench.environment.temporal.count(value.taskQueue, 'Completed');
  const { accepted } = value.answers;
  const books = new Books();
  books.answers('requests', value.answers);
  books.answers('requests of the baseline', baseline.answers);
  books.equal('rows', rows['all'], 'accepted', accepted);
  books.equal('acknowledged', rows['acknowledged'], 'accepted', accepted);
  books.equal('without a workflow', rows['alone'], 'accepted', accepted);
  books.equal('closed workflows', workflows, 'of those that need none', 0);
  books.equal('acknowledged attempts', rows['attempts'], 'accepted', accepted);
  books.equal('receipts', rows['receipts'], 'accepted', accepted);
  books.equal('calls at the target', value.target.calls, 'accepted', accepted);
  books.equal('rows of the baseline', bare['all'], 'its accepted', baseline.answers.accepted);
  books.equal('calls at its target', baseline.target.calls, 'accepted', baseline.answers.accepted);
  return books;
}
