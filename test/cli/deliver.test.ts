/**
 * `waybill deliver` as a person runs it, and replaying what may have had its effect. Real: the command's
 * process, socket, server, Postgres, attempts, the call. Doubled: the workflow, whose attempts this process
 * makes, and the vendor.
 */
import { deliveryId, tenantId } from '../../src/domain/ids';
import { Delivered } from '../../src/schemas/api-deliver';
import { verifyReceiptChain } from '../../src/signing/receipts/verify-chain';
import { publicKeySet } from '../../src/signing/keys';
import { Harness, OPERATE, READ } from '../http/harness';
import { Receiver } from '../support/receiver';
import {
  attempted,
  attemptServices,
  httpOperation,
  insertConnection,
} from '../support/sending-rig';
import { until } from '../support/until';
import { environmentOf, failureOf, removeHomes, waybill, type Environment } from './waybill';

let h: Harness;
let vendor: Receiver;
let attempting: ReturnType<typeof attemptServices>;
let env: Environment;
beforeAll(async () => {
  h = await Harness.start();
  vendor = await Receiver.start();
  attempting = attemptServices(h.db, h.key, {});
  const operations = {
    send: httpOperation(vendor.url),
    charge: httpOperation(vendor.url, { sideEffect: 'external' }),
  };
  await insertConnection(h.db, { name: 'chat', operations });
  env = await environmentOf(h, 'factory.deliveries.send', READ, OPERATE);
});
afterAll(async () => {
  await attempting.close();
  await vendor.stop();
  await h.stop();
  removeHomes();
});

const args = (key: string, ...more: readonly string[]) => [
  ...[
    'deliver',
    'chat',
    'send',
    '--connection',
    'chat',
    '--key',
    key,
    '--payload',
    '{"text":"Hi"}',
  ],
  ...more,
];

/** Runs the command while its delivery is attempted, as a worker would. */
async function sent(key: string, ...more: readonly string[]) {
  const before = h.started.length;
  const running = waybill(args(key, ...more), env);
  const id = await until('it is started', () => Promise.resolve(h.started[before]));
  const ref = { tenantId: tenantId('acme'), deliveryId: deliveryId(id) };
  await attempted(h.db, attempting.services, ref);
  return { id, ended: await running };
}

test('the receipt of what was taken is printed, and verifies', async () => {
  const { id, ended } = await sent('cli-1');
  expect(ended.code).toBe(0);
  const [first, second, jws = ''] = ended.stdout.trimEnd().split('\n');
  expect([first, second]).toEqual([
    `${id} is Acknowledged: the vendor answered 200`,
    `receipt delivery/${id}/1`,
  ]);
  expect(await verifyReceiptChain([jws], publicKeySet([h.key]))).toMatchObject({ ok: true });
  const again = await waybill(args('cli-1', '--json'), env);
  expect(Delivered.parse(JSON.parse(again.stdout)).deliveryId).toBe(id);
});

test('whoever does not wait is told that it goes on', async () => {
  const ended = await waybill(args('cli-2', '--wait', '0s'), env);
  expect(failureOf(ended)).toMatchObject({
    code: 'delivery_not_acknowledged',
    message: expect.stringMatching(/is Received$/) as string,
  });
});

test('a refusal names its code', async () => {
  const external = [
    'deliver',
    'chat',
    'charge',
    '--connection',
    'chat',
    '--key',
    'k',
    '--payload',
    '1',
  ];
  expect(failureOf(await waybill(external, env)).code).toBe('policy_decision_required');
  const decided = [...external, '--policy-decision', 'd-7'];
  expect(failureOf(await waybill(decided, env)).code).toBe('approval_required');
});

test('what may have had its effect says so, and is replayed only with a confirmation', async () => {
  vendor.answers.push('reset');
  const { id, ended } = await sent('cli-3');
  expect(failureOf(ended)).toMatchObject({
    code: 'delivery_not_acknowledged',
    message: expect.stringMatching(/is Failed: uncertain.*it may have had its effect/) as string,
  });
  const { stdout: page } = await waybill(['deliveries', 'show', id], env);
  expect(page).toMatch(/--confirm-uncertain --reason/);
  expect(page).toMatch(/asked for +by ada@example.test, of the class shared-write/);
  const replay = ['deliveries', 'replay', id, '--reason', 'there is nothing'];
  expect(failureOf(await waybill(replay, env)).code).toBe('delivery_uncertain');
  expect((await waybill([...replay, '--confirm-uncertain'], env)).code).toBe(0);
  const { stdout: list } = await waybill(['deliveries', 'list', '--direction', 'outbound'], env);
  expect(list).toContain(id);
});
