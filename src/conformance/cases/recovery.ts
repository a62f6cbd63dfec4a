/** After a lost memory, and beginning anew. */
import { expectKind, expectRefusal, isFinal, verdictOf, type Wanted } from '../expectations';
import { verdictText } from '../replies';
import type { CaseRun, ConformanceCase } from '../run';

const group = 'recovery';

export function recoveryCases(): ConformanceCase[] {
  return [
    {
      ...{ id: 'recovery/adopted', group, check: adopted },
      rule: 'After a lost memory: a reconcile with the request makes it an intent; nothing missing is proof at once',
    },
    {
      ...{ id: 'recovery/adopted-sealed', group, check: adoptedSealed },
      rule: 'After a lost memory: the intent is sealed at the fence of the reconcile',
    },
    {
      ...{ id: 'recovery/begin-anew', group, check: beginAnew },
      rule: 'Begin anew: an execute with begin_anew and a higher fence takes an intent back and begins',
    },
  ];
}

async function adopted(run: CaseRun): Promise<void> {
  for (const wanted of effects(run)) {
    const verdict = await adopt(run, wanted);
    if (isFinal(verdict) || verdict.kind === 'running' || verdict.kind === 'unknown') continue;
    run.fail(
      `nobody can know of ${wanted.capability} so soon that nothing began, and it answers ${verdictText(verdict)}`,
    );
  }
}

async function adoptedSealed(run: CaseRun): Promise<void> {
  const [wanted] = effects(run);
  if (wanted === undefined) return run.skip(NO_EFFECT);
  const fence = run.nextFence();
  await adopt(run, wanted, fence);
  const reply = await run.call({
    purpose: 'execute',
    ...wanted,
    fence,
    with: 'the fence of the reconcile',
  });
  expectRefusal(run, reply, { refusal: 'stale_fence' });
}

async function beginAnew(run: CaseRun): Promise<void> {
  const [wanted] = effects(run);
  if (wanted === undefined) return run.skip(NO_EFFECT);
  await adopt(run, wanted);
  const reply = await run.call({
    ...{ purpose: 'execute', ...wanted, claims: { begin_anew: true }, with: 'begin_anew' },
  });
  expectKind(run, reply, ['succeeded', 'failed', 'running']);
}

const NO_EFFECT = 'it only reads: there is no effect that could be unknown';

/** As if this memory had not been there when the action was sent, just now. */
async function adopt(run: CaseRun, wanted: Wanted, fence = run.nextFence()) {
  const { storeEpoch } = run.setup.subject;
  const reply = await run.call({
    ...{ purpose: 'reconcile', ...wanted, fence },
    ...{ claims: { store_epoch: storeEpoch, sent_ago_ms: 0 }, with: 'sent_ago_ms 0' },
  });
  return verdictOf(run, reply);
}

/** One request of each capability with an effect, those that nobody can look up first. */
function effects(run: CaseRun): Wanted[] {
  const usable = run.manifest.capabilities.filter(({ sideEffect }) => sideEffect !== 'read');
  const order = ['none', 'provider_key', 'lookup'];
  return [...usable]
    .sort((one, other) => order.indexOf(one.recovery) - order.indexOf(other.recovery))
    .flatMap((capability) => {
      const [body] = run.samplesOf(capability).valid;
      const { capabilityId } = capability;
      return body === undefined
        ? []
        : [{ action: run.newAction(), capability: capabilityId, body }];
    });
}
