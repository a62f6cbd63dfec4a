/** Registering, heartbeats, and an orderly end: only where the host registers with this suite. */
import { expectSame, carryOut, probe } from '../expectations';
import type { CaseRun, ConformanceCase } from '../run';
import type { ConformanceLifecycle } from '../subject';

const group = 'lifecycle';

/** A heartbeat every 10 s, a fifth more or less, and some time for it to get here. */
const HEARTBEAT_WITHIN_MS = 13_000;
const STOP_WITHIN_MS = 20_000;

export function lifecycleCases(lifecycle: ConformanceLifecycle | null): ConformanceCase[] {
  return [
    {
      ...{ id: 'lifecycle/register', group },
      rule: 'Lifecycle: it registers by a call that is signed with its key, with every claim',
      check: (run) => told(run, known(run, lifecycle).registered),
    },
    {
      ...{ id: 'lifecycle/heartbeat', group },
      rule: 'Lifecycle: a heartbeat every 10 s, a fifth more or less, each with the sequence before',
      check: async (run) => told(run, await known(run, lifecycle).heartbeat(HEARTBEAT_WITHIN_MS)),
    },
    {
      ...{ id: 'lifecycle/drain', group },
      rule: 'Lifecycle: a draining host serves what is pinned to it, and says at last that it is offline',
      check: (run) => drain(run, known(run, lifecycle)),
    },
  ];
}

function known(run: CaseRun, lifecycle: ConformanceLifecycle | null): ConformanceLifecycle {
  return (
    lifecycle ??
    run.skip('it is registered with Waybill, which sees to that; `waybill conformance` tries this')
  );
}

function told(run: CaseRun, problem: string | null): Promise<void> {
  if (problem !== null) run.fail(problem);
  return Promise.resolve();
}

async function drain(run: CaseRun, { stop }: ConformanceLifecycle): Promise<void> {
  if (stop === null) return run.skip('the process of the host was not given: --host-pid');
  const wanted = probe(run);
  const first = await carryOut(run, wanted);
  await told(run, await stop.begin(STOP_WITHIN_MS));
  const again = await carryOut(run, wanted, { with: 'while it drains' });
  expectSame(run, first, again);
  await told(run, await stop.finish(STOP_WITHIN_MS));
}
