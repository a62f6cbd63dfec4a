/** Actions under way on a host that dies at a point of theirs. */
import type { ActionRef } from '../../src/domain/action-service';
import type { HostPoint } from '../../src/hosts/kit/points';
import type { HostProcess } from '../hosts/support/host-process';
import type { ActionFaultRig, Lane } from './action-fault-rig';
import { RESOLVE_UPDATE } from '../../src/domain/action-activities';

export interface Death {
  /** One action of each way to find out what became of it. */
  readonly lookup: ActionRef;
  readonly keyed: ActionRef;
  readonly blind: ActionRef;
  /** Another host of the instance, ready since before the death. */
  readonly peer: HostProcess;
}

/** Longer than anything is held: nothing may be given up before the kill. */
const PATIENT_MS = 4_500;

/** Three actions stand at the point when their host gets its SIGKILL; all are settled as unknown. */
export async function hostKilledAt(
  faults: ActionFaultRig,
  lane: Lane,
  at: { readonly point: HostPoint; readonly start: typeof faults.host },
): Promise<Death> {
  const atProvider = at.point === 'provider_effect_committed';
  const doomed = await at.start(0, {
    providerTimeoutMs: PATIENT_MS,
    ...(atProvider ? {} : { holdAt: at.point }),
  });
  if (atProvider) await faults.holdAtProvider(3);
  const refs = {
    lookup: await lane.start('tickets.create'),
    keyed: await lane.start('tickets.create_keyed'),
    blind: await lane.start('tickets.create_blind'),
  };
  await (atProvider ? faults.heldAtProvider(3) : doomed.held(3));
  const peer = await faults.host(1);
  await doomed.kill();
  await faults.releaseProvider();
  for (const ref of Object.values(refs)) {
    const [attempt] = await faults.settled(ref);
    const evidence = { answer: 'lost', why: 'connection_lost' };
    expect(attempt).toMatchObject({ evidence, settlement: 'outcome_unknown', cause: 'host' });
  }
  return { ...refs, peer };
}

/** Nobody can find out: it waits for a person, whose word closes it, and nothing is sent meanwhile. */
export async function needsOperator(
  faults: ActionFaultRig,
  ref: ActionRef,
  effects: 0 | 1,
): Promise<void> {
  const { rig } = faults;
  await rig.reaches(ref, 'needs_operator', 40_000);
  await rig.says(ref, /Needs an operator/);
  expect(await faults.effects(ref)).toEqual({ assigned: effects, elsewhere: 0 });
  const outcome = effects === 1 ? 'completed' : 'cancelled';
  const input = { outcome, by: 'ada', reason: 'looked at the provider' };
  const answer = await rig.handle(ref).executeUpdate(RESOLVE_UPDATE, { args: [input] });
  expect(answer).toEqual({ kind: 'resolved', state: outcome });
  await expect(rig.handle(ref).result()).resolves.toEqual({ state: outcome });
  expect(await faults.effects(ref)).toEqual({ assigned: effects, elsewhere: 0 });
  expect(await faults.open(ref)).toBe(0);
}
