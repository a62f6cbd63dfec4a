/**
 * A person's word that what was begun had no effect. Real: client, host kit, signatures. Doubled: the
 * store is the one in memory, the connector does what the test says.
 */
import type { HostCall } from '../../../src/hosts/client';
import { callTo } from '../support/fixtures';
import { BODY, hostAtWork } from '../support/host-at-work';
import { DONE } from '../support/work';

const kit = hostAtWork();

function anew(call: HostCall, fence: number): HostCall {
  return { ...call, fence, beginAnew: true };
}

test('with a higher fence the host begins anew', async () => {
  const call = await kit.lostAction();
  const retry = kit.client.execute(anew(call, 11), BODY);
  (await kit.work.times(2)).finish(DONE);
  expect(await retry).toEqual(kit.answered(DONE));
});

test('with a fence that it knows nothing is begun', async () => {
  const call = await kit.lostAction();
  expect(await kit.client.execute(anew(call, 10), BODY)).toEqual(kit.answered({ kind: 'unknown' }));
  expect(kit.work.begun).toHaveLength(1);
});

test('while it is at work, or has a result, nothing is begun', async () => {
  const call = callTo(kit.host);
  const first = kit.client.execute(call, BODY);
  const effect = await kit.work.times(1);
  const second = kit.client.execute(anew(call, 11), BODY);
  effect.finish(DONE);
  expect(await Promise.all([first, second])).toEqual([kit.answered(DONE), kit.answered(DONE)]);
  expect(await kit.client.execute(anew(call, 12), BODY)).toEqual(kit.answered(DONE));
  expect(kit.work.begun).toHaveLength(1);
});
