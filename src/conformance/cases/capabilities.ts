/** Every capability, by its own schemas: what it takes, what it gives, and that it does so once. */
import type { ManifestCapability } from '../../domain/host-protocol';
import { carryOut, expectNothing, expectRefusal, expectSame, type Wanted } from '../expectations';
import { verdictText } from '../replies';
import type { CaseRun, ConformanceCase } from '../run';
import { schemaJudge, type Judgement } from '../../schemas/json-schema-judges';

const group = 'capabilities';

export function capabilityCases(offered: readonly ManifestCapability[]): ConformanceCase[] {
  return offered.flatMap((capability): ConformanceCase[] => {
    const { capabilityId } = capability;
    return [
      {
        ...{ id: `capabilities/valid/${capabilityId}`, group },
        rule: 'Answers: a valid request comes to a final outcome; a result is of the result schema',
        check: (run) => valid(run, capability),
      },
      {
        ...{ id: `capabilities/invalid/${capabilityId}`, group },
        rule: 'Refusals: a body that is no request of the capability is request_invalid',
        check: (run) => invalid(run, capability),
      },
      {
        ...{ id: `capabilities/repeat/${capabilityId}`, group },
        rule: 'The promises of a host: the same tenant and action again gets the stored result',
        check: (run) => repeat(run, capability),
      },
    ];
  });
}

async function valid(run: CaseRun, capability: ManifestCapability): Promise<void> {
  const { valid: bodies, written } = run.samplesOf(capability);
  if (bodies.length === 0) run.fail(noRequest(capability));
  const judge = schemaJudge(capability.resultSchema as object | boolean);
  for (const body of bodies) {
    const outcome = await carryOut(run, wanted(run, capability, body));
    if (outcome.kind === 'succeeded') ofSchema(run, judge(outcome.result));
    // What was made up may name a thing that the sandbox has not.
    if (outcome.kind !== 'succeeded' && written) {
      run.fail(
        `the cases file calls the request valid, and the outcome is ${verdictText(outcome)}`,
      );
    }
  }
}

function ofSchema(run: CaseRun, judged: Judgement): void {
  if (judged.kind === 'fits') return;
  if (judged.kind === 'too_costly') return run.fail(`the result ${judged.problem}`);
  const [error] = judged.errors;
  const where = error === undefined ? '' : `: ${error.instancePath || 'it'} ${error.message ?? ''}`;
  run.fail(`the result is not of the result schema${where}`);
}

async function invalid(run: CaseRun, capability: ManifestCapability): Promise<void> {
  for (const body of run.samplesOf(capability).invalid) {
    const asked = wanted(run, capability, body);
    const reply = await run.call({ purpose: 'execute', ...asked });
    expectRefusal(run, reply, { refusal: 'request_invalid', started: false });
    await expectNothing(run, asked.action, asked.capability);
  }
}

async function repeat(run: CaseRun, capability: ManifestCapability): Promise<void> {
  const [body] = run.samplesOf(capability).valid;
  if (body === undefined) return run.fail(noRequest(capability));
  const asked = wanted(run, capability, body);
  const first = await carryOut(run, asked);
  const again = await carryOut(run, asked, { with: 'the same action again' });
  expectSame(run, first, again);
}

function wanted(run: CaseRun, { capabilityId }: ManifestCapability, body: string): Wanted {
  return { action: run.newAction(), capability: capabilityId, body };
}

function noRequest({ capabilityId }: ManifestCapability): string {
  return (
    `no valid request could be made up from the request schema of ${capabilityId}; ` +
    'write one in the cases file'
  );
}
