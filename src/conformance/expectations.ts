/** What several cases expect of a host; each throws where it is not so. */
import { setTimeout as delay } from 'node:timers/promises';
import type { FinalOutcome, HostRefusal, HostVerdict } from '../domain/host-protocol';
import { canonicalJson } from '../schemas/canonical-json';
import { verdictText, type Reply } from './replies';
import type { CaseRun, PartialCall } from './run';

/** An action that a case has the host do. */
export interface Wanted {
  readonly action: string;
  readonly capability: string;
  readonly body: string;
}

const POLL_MS = 50;

/** What the host says, where it says it with its signature. */
export function verdictOf(run: CaseRun, reply: Reply): HostVerdict {
  if (reply.kind === 'signed') return reply.verdict;
  return run.fail(
    reply.kind === 'none'
      ? `there was no answer: ${reply.detail}`
      : `the answer is ${reply.flaw}, so that nobody believes it`,
  );
}

export function expectKind(
  run: CaseRun,
  reply: Reply,
  kinds: readonly HostVerdict['kind'][],
): HostVerdict {
  const verdict = verdictOf(run, reply);
  if (kinds.includes(verdict.kind)) return verdict;
  return run.fail(`it must answer ${kinds.join(' or ')}, and answered ${verdictText(verdict)}`);
}

export function expectRefusal(
  run: CaseRun,
  reply: Reply,
  expected: { readonly refusal: HostRefusal; readonly started?: boolean },
): Extract<HostVerdict, { kind: 'refused' }> {
  const verdict = verdictOf(run, reply);
  const { refusal, started } = expected;
  if (verdict.kind !== 'refused' || verdict.refusal !== refusal) {
    return run.fail(`it must refuse with ${refusal}, and answered ${verdictText(verdict)}`);
  }
  if (started !== undefined && verdict.started !== started) {
    return run.fail(`${refusal} must say started ${String(started)} here`);
  }
  return verdict;
}

/** Nothing may have begun of the action: the host knows nothing of it. */
export async function expectNothing(
  run: CaseRun,
  action: string,
  capability: string,
): Promise<void> {
  const verdict = verdictOf(run, await run.call({ purpose: 'read', action, capability }));
  if (verdict.kind === 'not_started') return;
  run.fail(`nothing of the action may have begun, and a read answers ${verdictText(verdict)}`);
}

/**
 * Has the action done, to its end: repeats the `execute` while it runs.
 * @returns the final outcome; anything else fails the case
 */
export async function carryOut(
  run: CaseRun,
  wanted: Wanted,
  more: Partial<PartialCall> = {},
): Promise<FinalOutcome> {
  const untilMs = performance.now() + 2 * run.timeoutOf(wanted.capability);
  for (let call: Partial<PartialCall> = more; ; call = {}) {
    const verdict = verdictOf(run, await run.call({ purpose: 'execute', ...wanted, ...call }));
    if (isFinal(verdict)) return verdict;
    if (verdict.kind !== 'running') {
      return run.fail(
        `a valid request must be carried out, and the answer is ${verdictText(verdict)}`,
      );
    }
    if (performance.now() > untilMs) return run.fail('the action runs for more than two time-outs');
    await delay(POLL_MS);
  }
}

export function expectSame(run: CaseRun, first: FinalOutcome, again: HostVerdict): void {
  if (canonicalJson(first) === canonicalJson(again)) return;
  run.fail(
    `the same action must have the same outcome: first ${verdictText(first)}, then ${verdictText(again)}`,
  );
}

export function isFinal(verdict: HostVerdict): verdict is FinalOutcome {
  return verdict.kind === 'succeeded' || verdict.kind === 'failed' || verdict.kind === 'cancelled';
}

/**
 * A capability to try the protocol with and a valid request: one with an effect where there is one,
 * so that a repeated effect shows in another result.
 */
export function probe(run: CaseRun): Wanted {
  const usable = run.manifest.capabilities.flatMap((offered) => {
    const samples = run.samplesOf(offered);
    const [body] = samples.valid;
    return body === undefined ? [] : [{ offered, body, written: samples.written }];
  });
  const weight = ({ offered, written }: (typeof usable)[number]) =>
    (offered.sideEffect === 'read' ? 2 : 0) + (written ? 0 : 1);
  const [best] = [...usable].sort((one, other) => weight(one) - weight(other));
  if (best === undefined) return run.skip('no capability has a valid request; see the cases file');
  return { action: run.newAction(), capability: best.offered.capabilityId, body: best.body };
}
