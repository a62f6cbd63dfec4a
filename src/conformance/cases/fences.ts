/** Fences, seals and tombstones: who is late begins nothing. */
import { setTimeout as delay } from 'node:timers/promises';
import type { HostVerdict } from '../../domain/host-protocol';
import {
  carryOut,
  expectKind,
  expectNothing,
  expectRefusal,
  expectSame,
  isFinal,
  probe,
  verdictOf,
  type Wanted,
} from '../expectations';
import { verdictText } from '../replies';
import type { CaseRun, ConformanceCase } from '../run';

const group = 'fences';
const POLL_MS = 25;

export function fenceCases(): ConformanceCase[] {
  return [
    fenceCase('lower', lower, 'an execute with a lower fence is refused'),
    fenceCase('read', readChangesNothing, 'a read changes nothing and raises no fence', 'Calls'),
    fenceCase('seal', seal, 'a reconcile stores its fence before it answers; nothing below begins'),
    fenceCase(
      'reconcile-finished',
      reconcileFinished,
      'a reconcile of what is finished gets that result',
    ),
    fenceCase(
      'tombstone',
      tombstone,
      'a cancel of what never began leaves a tombstone: it never will',
    ),
    fenceCase(
      'cancel-finished',
      cancelFinished,
      'a final outcome is the answer to every later call',
      'Answers',
    ),
    fenceCase(
      'cancel-running',
      cancelRunning,
      'a cancel of what is under way tells the connector to stop',
    ),
    fenceCase(
      'other-body',
      otherBody,
      'the action with another body is a request_conflict',
      'Refusals',
    ),
    fenceCase(
      ...(['other-capability', otherCapability] as const),
      ...(['the action with another capability is a request_conflict', 'Refusals'] as const),
    ),
    fenceCase('together', together, 'two calls at once are one effect', 'The promises of a host'),
  ];
}

function fenceCase(
  name: string,
  check: ConformanceCase['check'],
  rule: string,
  heading = 'Fences, seals and tombstones',
): ConformanceCase {
  return { id: `fences/${name}`, group, rule: `${heading}: ${rule}`, check };
}

async function lower(run: CaseRun): Promise<void> {
  const below = run.nextFence();
  const wanted = probe(run);
  const fence = run.nextFence();
  await carryOut(run, wanted, { fence });
  const reply = await run.call({
    purpose: 'execute',
    ...wanted,
    fence: below,
    with: 'a lower one',
  });
  const { highest_fence: highest } = expectRefusal(run, reply, { refusal: 'stale_fence' });
  if (highest === null || highest < fence) {
    run.fail(`highest_fence must be at least ${fence}, and is ${String(highest)}`);
  }
}

async function readChangesNothing(run: CaseRun): Promise<void> {
  const wanted = probe(run);
  const fence = run.nextFence();
  const { action, capability } = wanted;
  const reply = await run.call({ purpose: 'read', action, capability });
  expectKind(run, reply, ['not_started']);
  await carryOut(run, wanted, { fence, with: 'a fence below that of the read' });
}

async function seal(run: CaseRun): Promise<void> {
  const wanted = probe(run);
  const { action, capability } = wanted;
  const below = run.nextFence();
  const fence = run.nextFence();
  const sealed = await run.call({ purpose: 'reconcile', action, capability, fence });
  expectKind(run, sealed, ['not_started']);
  for (const late of [fence, below]) {
    const reply = await run.call({
      ...{ purpose: 'execute', ...wanted, fence: late, with: 'not above the seal' },
    });
    expectRefusal(run, reply, { refusal: 'stale_fence', started: false });
  }
  await expectNothing(run, action, capability);
  await carryOut(run, wanted, { with: 'above the seal' });
}

async function reconcileFinished(run: CaseRun): Promise<void> {
  const wanted = probe(run);
  const { action, capability } = wanted;
  const first = await carryOut(run, wanted);
  const between = run.nextFence();
  const reply = await run.call({ purpose: 'reconcile', action, capability });
  expectSame(run, first, verdictOf(run, reply));
  const late = await run.call({
    purpose: 'execute',
    ...wanted,
    fence: between,
    with: 'below the seal',
  });
  expectRefusal(run, late, { refusal: 'stale_fence' });
}

async function tombstone(run: CaseRun): Promise<void> {
  const wanted = probe(run);
  const { action, capability } = wanted;
  const below = run.nextFence();
  expectKind(run, await run.call({ purpose: 'cancel', action, capability }), ['cancelled']);
  // The dispatch that the cancel has overtaken, and whatever comes later.
  const overtaken = await run.call({
    purpose: 'execute',
    ...wanted,
    fence: below,
    with: 'overtaken',
  });
  const verdict = verdictOf(run, overtaken);
  if (verdict.kind !== 'cancelled')
    expectRefusal(run, overtaken, { refusal: 'stale_fence', started: false });
  expectKind(run, await run.call({ purpose: 'execute', ...wanted }), ['cancelled']);
}

async function cancelFinished(run: CaseRun): Promise<void> {
  const wanted = probe(run);
  const { action, capability } = wanted;
  const first = await carryOut(run, wanted);
  const reply = await run.call({ purpose: 'cancel', action, capability });
  expectSame(run, first, verdictOf(run, reply));
}

async function cancelRunning(run: CaseRun): Promise<void> {
  const wanted = slowWork(run);
  const { action, capability } = wanted;
  const executing = run.call({ purpose: 'execute', ...wanted });
  await underWay(run, wanted, executing);
  const told = verdictOf(run, await run.call({ purpose: 'cancel', action, capability }));
  if (!isFinal(told) && told.kind !== 'running' && told.kind !== 'unknown') {
    run.fail(
      `a cancel of what is under way must say what came of it, and said ${verdictText(told)}`,
    );
  }
  const end = await settled(run, wanted);
  if (isFinal(told)) expectSame(run, told, end);
  const executed = verdictOf(run, await executing);
  if (isFinal(executed)) expectSame(run, executed, end);
}

/** Until a read says that it runs; what is over before that is too fast to be cancelled. */
async function underWay(run: CaseRun, wanted: Wanted, executing: Promise<unknown>): Promise<void> {
  const { action, capability } = wanted;
  const over = executing.then(() => 'over' as const);
  for (;;) {
    const verdict = verdictOf(run, await run.call({ purpose: 'read', action, capability }));
    if (verdict.kind === 'running') return;
    if (isFinal(verdict)) return run.fail('the slow request of the cases file is over at once');
    if ((await Promise.race([over, delay(POLL_MS)])) === 'over') {
      return run.fail('the slow request of the cases file is over at once');
    }
  }
}

async function settled(run: CaseRun, { action, capability }: Wanted): Promise<HostVerdict> {
  const untilMs = performance.now() + run.timeoutOf(capability);
  for (;;) {
    const verdict = verdictOf(run, await run.call({ purpose: 'reconcile', action, capability }));
    if (isFinal(verdict)) return verdict;
    if (performance.now() > untilMs) {
      return run.fail(`it must end after a cancel, and says ${verdictText(verdict)}`);
    }
    await delay(POLL_MS);
  }
}

function slowWork(run: CaseRun): Wanted {
  for (const capability of run.manifest.capabilities) {
    const { slow } = run.samplesOf(capability);
    if (slow === null) continue;
    return { action: run.newAction(), capability: capability.capabilityId, body: slow };
  }
  return run.skip('the cases file has no slow request of any capability');
}

async function otherBody(run: CaseRun): Promise<void> {
  const wanted = probe(run);
  await carryOut(run, wanted);
  // As JSON the same: a body is its bytes.
  const reply = await run.call({
    ...{ purpose: 'execute', ...wanted, body: `${wanted.body} `, with: 'a blank more in the body' },
  });
  expectRefusal(run, reply, { refusal: 'request_conflict' });
}

async function otherCapability(run: CaseRun): Promise<void> {
  const wanted = probe(run);
  const other = run.manifest.capabilities.find(
    ({ capabilityId }) => capabilityId !== wanted.capability,
  );
  if (other === undefined) run.skip('it offers one capability only');
  const [body = wanted.body] = run.samplesOf(other).valid;
  await carryOut(run, wanted);
  const reply = await run.call({
    ...{ purpose: 'execute', action: wanted.action, capability: other.capabilityId, body },
    with: 'the same action',
  });
  expectRefusal(run, reply, { refusal: 'request_conflict' });
}

async function together(run: CaseRun): Promise<void> {
  const wanted = probe(run);
  const fence = run.nextFence();
  const replies = await Promise.all(
    ['one', 'the other'].map((which) =>
      run.call({ purpose: 'execute', ...wanted, fence, with: `${which} of two at once` }),
    ),
  );
  const end = await carryOut(run, wanted);
  for (const reply of replies) {
    const verdict = expectKind(run, reply, ['succeeded', 'failed', 'cancelled', 'running']);
    if (isFinal(verdict)) expectSame(run, end, verdict);
  }
}
