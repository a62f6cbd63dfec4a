/**
 * A real host process is killed and comes back without its store: another memory, which cannot say that
 * nothing began. Doubled: nothing; a proxy between worker and host can lose a question. Verdict: the
 * provider's own records and the rows.
 */
import { rmSync } from 'node:fs';
import type { HostPoint } from '../../src/hosts/kit/points';
import { ActionFaultRig, type Lane } from '../support/action-fault-rig';
import { hostKilledAt, needsOperator, type Death } from '../support/host-deaths';
import { RecordingProxy, type Asked } from '../support/recording-proxy';
import type { HostProcess } from '../hosts/support/host-process';

let faults: ActionFaultRig;
let lane: Lane;
let proxy: RecordingProxy;

beforeAll(async () => {
  faults = await ActionFaultRig.start();
  lane = faults.lane();
  proxy = await RecordingProxy.start(faults.described(0).port);
  await lane.worker();
});
afterAll(async () => {
  await proxy.stop();
  await faults.stop();
});
afterEach(() => {
  proxy.honest();
});

/** A host behind the proxy. */
const start: ActionFaultRig['host'] = async (nth, changes) => {
  const host = await faults.host(nth, { ...changes, port: 0 });
  proxy.upstream = host.url;
  return host;
};

/** Killed at the point, and started again on an empty store. */
async function emptied(point: HostPoint): Promise<Death & { readonly heir: HostProcess }> {
  const death = await hostKilledAt(faults, lane, { point, start });
  const { storeFile } = faults.described(0);
  for (const end of ['', '-wal', '-shm']) rmSync(`${storeFile}${end}`, { force: true });
  return { ...death, heir: await start(0) };
}

const LOST: readonly { point: HostPoint; effects: 0 | 1 }[] = [
  { point: 'intent_persisted', effects: 0 },
  { point: 'provider_effect_committed', effects: 1 },
];

test.each(LOST)('killed at $point: looked for or repeated, one effect', async (expected) => {
  const { lookup, keyed, blind, heir, peer } = await emptied(expected.point);
  await Promise.all([
    faults.completes(lookup),
    faults.completes(keyed),
    needsOperator(faults, blind, expected.effects),
  ]);
  await faults.balances();
  await Promise.all([heir.stop(), peer.stop()]);
});

test('what never reached the new memory has not made it know the action', async () => {
  const lost = new Set<string>();
  proxy.answering = (asked, pass) => {
    const kind = ofTheNewMemory(asked);
    if (kind === null || lost.has(kind)) return pass();
    lost.add(kind);
    return Promise.reject(new Error('lost on the way'));
  };
  const { lookup, keyed, blind, heir, peer } = await emptied('provider_effect_committed');
  await Promise.all([
    faults.completes(lookup),
    faults.completes(keyed),
    needsOperator(faults, blind, 1),
  ]);
  expect([...lost].sort()).toEqual(['asked to look', 'asked to repeat']);
  // Such a memory would call it not started, and be believed.
  for (const ref of [lookup, keyed]) {
    const late = (await faults.attempts(ref)).flatMap((attempt) => attempt.late);
    expect(late.map(({ kind }) => kind)).not.toContain('not_started');
  }
  await faults.balances();
  await Promise.all([heir.stop(), peer.stop()]);
});

/** What a memory is asked that was not there when the action was sent; null: nothing of that. */
function ofTheNewMemory({ method, path, body }: Asked): string | null {
  if (method === 'POST') return body.length > 0 ? 'asked to look' : null;
  const sent = proxy.passed.filter((one) => one.method === 'PUT' && one.path === path);
  return sent.length > 1 ? 'asked to repeat' : null;
}
