/**
 * A real worker process is frozen (SIGSTOP) in the middle of a dispatch, and wakes up when others have
 * gone on without it. Real hosts; a proxy keeps what reaches them. Doubled: nothing. Verdict: the
 * provider's own records, the rows, and the host's signed answers.
 */
import { ActionFaultRig, SHORT_HEARTBEAT_MS, type Lane } from '../support/action-fault-rig';
import type { ActionRef } from '../../src/domain/action-service';
import type { ReadAction } from '../../src/schemas/action-step-rows';
import type { PointName } from '../../src/points';
import type { WaybillProcess } from '../support/processes';
import { claimsOf, RecordingProxy, type Gate } from '../support/recording-proxy';
import { TcpLink } from '../support/tcp-link';
import { required } from '../support/test-database';
import { until } from '../support/until';

let faults: ActionFaultRig;
let proxy: RecordingProxy;

beforeAll(async () => {
  faults = await ActionFaultRig.start();
  proxy = await RecordingProxy.start(faults.described(0).port);
  proxy.upstream = (await faults.host(0, { port: 0, providerTimeoutMs: 20_000 })).url;
});
afterAll(async () => {
  await proxy.stop();
  await faults.stop();
});

interface Frozen {
  readonly lane: Lane;
  readonly ref: ActionRef;
  readonly worker: WaybillProcess;
}

/** An action whose worker is frozen at the point, and cannot reach Temporal from then on. */
async function frozenAt(
  point: PointName,
  before: (worker: WaybillProcess, ref: ActionRef) => Promise<void> = () => Promise.resolve(),
): Promise<Frozen> {
  const link = await TcpLink.start(required('WAYBILL_TEST_TEMPORAL_ADDRESS'));
  const lane = faults.lane({ heartbeatMs: SHORT_HEARTBEAT_MS }, link.address);
  const worker = await lane.worker('dispatch.begun', point, 'dispatch.closed');
  const ref = await lane.start();
  await worker.heldAt('dispatch.begun');
  // As if it had been reserved long ago: the dispatch then has no more than its own time.
  await setDeadline(ref, 5_000);
  worker.signal('SIGUSR2');
  await worker.heldAt(point);
  await before(worker, ref);
  worker.signal('SIGSTOP');
  // Whoever is frozen takes no task, and is not told in time that it was given up.
  await link.cut();
  return { lane, ref, worker };
}

/** An action whose worker is frozen while its request is on its way to the host. */
async function frozenInTheCall(): Promise<Frozen & { readonly gate: Gate }> {
  const gates: Gate[] = [];
  const frozen = await frozenAt('dispatch.opened', async (worker, ref) => {
    const gate = proxy.hold(ref.actionId);
    gates.push(gate);
    worker.signal('SIGUSR2');
    await gate.arrived;
  });
  const [gate] = gates;
  if (gate === undefined) throw new Error('there is a gate');
  return { ...frozen, gate };
}

/** It goes on where it stood; resolves when it has settled its attempt, or tried to. */
async function wakes({ worker }: Frozen): Promise<void> {
  worker.signal('SIGUSR2');
  worker.signal('SIGCONT');
  await worker.heldAt('dispatch.closed');
}

async function setDeadline({ tenantId, actionId }: ActionRef, inMs: number): Promise<void> {
  await faults.rig.db.rows(
    `update waybill.route_attempts set deadline_at = clock_timestamp() + make_interval(secs => $3)
      where tenant_id = $1 and action_id = $2`,
    [tenantId, actionId, inMs / 1_000],
  );
}

/** What the host said to each request under the first fence; it is the lowest. */
async function answersToTheFirst(ref: ActionRef): Promise<readonly unknown[]> {
  const [fence] = await faults.rig.db.rows<{ fence: string }>(
    `select fence from waybill.route_attempts
      where tenant_id = $1 and action_id = $2 and attempt_no = 1`,
    [ref.tenantId, ref.actionId],
  );
  return proxy.passed
    .filter(({ method, path }) => method === 'PUT' && path.includes(ref.actionId))
    .filter(({ authorization }) => String(claimsOf(authorization)['fence']) === fence?.fence)
    .flatMap(({ answer }) => (answer === null ? [] : [claimsOf(answer)['outcome']]))
    .map((outcome) => {
      const { kind, refusal = kind } = outcome as Readonly<Record<string, unknown>>;
      return refusal;
    });
}

/** Of every capability; a dispatch has 15 s beside it. */
async function setTimeoutMs(ms: number): Promise<void> {
  await faults.rig.db.rows('update waybill.capabilities set timeout_ms = $1', [ms]);
}

function standing({ state, result, attempt }: ReadAction): unknown {
  return { state, result, attempt };
}

const [FIRST_LOST, SECOND_OPEN] = [
  { attempt_no: 1, settlement: 'outcome_unknown' },
  { attempt_no: 2, settlement: null },
];

test('awake while a newer attempt is under way: refused, and nothing of that one is freed', async () => {
  await setTimeoutMs(60_000);
  const [called, unsent] = await Promise.all([frozenInTheCall(), frozenAt('dispatch.opened')]);
  await faults.holdAtProvider(2);
  await Promise.all([called.lane.heir(), unsent.lane.heir()]);
  await faults.heldAtProvider(2);
  called.gate.letGo();
  await until('it was refused', async () => (await answersToTheFirst(called.ref))[0]);
  await Promise.all([wakes(called), wakes(unsent)]);
  for (const { ref } of [called, unsent]) {
    expect(await faults.attempts(ref)).toMatchObject([FIRST_LOST, SECOND_OPEN]);
  }
  await faults.balances(2);
  await faults.releaseProvider();
  await Promise.all([faults.completes(called.ref), faults.completes(unsent.ref)]);
  expect(await answersToTheFirst(called.ref)).toEqual(['stale_fence']);
  // Not sent at all where it noticed first that it had been given up.
  expect(['stale_fence', undefined]).toContain((await answersToTheFirst(unsent.ref))[0]);
});

test('awake after its deadline: its token has run out, and the result stands', async () => {
  await setTimeoutMs(1_000);
  const [called, unsent] = await Promise.all([frozenInTheCall(), frozenAt('dispatch.opened')]);
  await Promise.all([called.lane.heir(), unsent.lane.heir()]);
  const rows = await Promise.all([faults.completes(called.ref), faults.completes(unsent.ref)]);
  await until('both deadlines are over', async () => {
    const [left] = await faults.rig.db.rows<{ count: number }>(
      `select count(*)::integer from waybill.route_attempts
        where action_id = any($1) and attempt_no = 1 and deadline_at >= clock_timestamp()`,
      [[called.ref.actionId, unsent.ref.actionId]],
    );
    return left?.count === 0 ? true : null;
  });
  called.gate.letGo();
  await until('it was refused', async () => (await answersToTheFirst(called.ref))[0]);
  await Promise.all([wakes(called), wakes(unsent)]);
  expect(await answersToTheFirst(called.ref)).toEqual(['token_expired']);
  expect(['token_expired', undefined]).toContain((await answersToTheFirst(unsent.ref))[0]);
  const after = await Promise.all([faults.completes(called.ref), faults.completes(unsent.ref)]);
  expect(after.map(standing)).toEqual(rows.map(standing));
  await faults.balances();
});

test('an answer that is told after the lease has run out is still the result', async () => {
  const answered = await frozenAt('dispatch.answered');
  await setDeadline(answered.ref, 0);
  await faults.sweep();
  expect(await faults.settled(answered.ref)).toMatchObject([{ settlement: 'lease_expired' }]);
  await faults.balances();
  await wakes(answered);
  const row = await faults.completes(answered.ref);
  expect(row.attempt).toMatchObject({ attemptNo: 1, settlement: 'lease_expired' });
  const [kept] = await faults.attempts(answered.ref);
  expect(kept?.late).toMatchObject([{ settlement: 'completed' }]);
});
