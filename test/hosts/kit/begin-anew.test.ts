/**
 * A person's word that what was begun had no effect. Real: client, host kit, signatures. Doubled: the
 * store is the one in memory, the connector does what the test says.
 */
import type { HostCall, HostClient } from '../../../src/hosts/client';
import type { Host } from '../../../src/hosts/kit/host';
import type { SigningKey } from '../../../src/signing/keys';
import { callTo, clientOf, json, newKey } from '../support/fixtures';
import { DONE, hostOver, Work } from '../support/work';

let keys: { host: SigningKey; waybill: SigningKey };
let client: HostClient;
let host: Host;
let work: Work;
const BODY = json({ title: 'Broken lamp' });

beforeAll(async () => {
  keys = { host: await newKey(), waybill: await newKey() };
  client = clientOf(keys.waybill);
});
beforeEach(async () => {
  work = new Work();
  host = await hostOver(work, keys);
});
afterEach(async () => {
  await host.stop();
});
afterAll(async () => {
  await client.close();
});

function answered(outcome: unknown): unknown {
  return { kind: 'answered', outcome, storeEpoch: host.storeEpoch };
}

/** An action whose try was lost: the connector threw. */
async function lostAction(): Promise<HostCall> {
  const call = callTo(host);
  const sent = client.execute(call, BODY);
  (await work.times(1)).lose();
  expect(await sent).toEqual(answered({ kind: 'unknown' }));
  return call;
}

function anew(call: HostCall, fence: number): HostCall {
  return { ...call, fence, beginAnew: true };
}

test('with a higher fence the host begins anew', async () => {
  const call = await lostAction();
  const retry = client.execute(anew(call, 11), BODY);
  (await work.times(2)).finish(DONE);
  expect(await retry).toEqual(answered(DONE));
});

test('with a fence that it knows nothing is begun', async () => {
  const call = await lostAction();
  expect(await client.execute(anew(call, 10), BODY)).toEqual(answered({ kind: 'unknown' }));
  expect(work.begun).toHaveLength(1);
});

test('while it is at work, or has a result, nothing is begun', async () => {
  const call = callTo(host);
  const first = client.execute(call, BODY);
  const effect = await work.times(1);
  const second = client.execute(anew(call, 11), BODY);
  effect.finish(DONE);
  expect(await Promise.all([first, second])).toEqual([answered(DONE), answered(DONE)]);
  expect(await client.execute(anew(call, 12), BODY)).toEqual(answered(DONE));
  expect(work.begun).toHaveLength(1);
});
