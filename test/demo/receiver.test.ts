/**
 * The demo receiver: what it takes, what it refuses, what it remembers. Real: the receiver and its
 * HTTP; requests are signed by the library of the Standard Webhooks project.
 */
import { createHash } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { startReceiver, type RunningReceiver } from '../../src/demo/receiver';
import { ReceiverClient } from '../../src/demo/receiver-client';

const SECRET = `whsec_${Buffer.from('a secret of the example target..').toString('base64')}`;
const OTHER = `whsec_${Buffer.from('a secret of somebody else entire').toString('base64')}`;

let receiver: RunningReceiver;
let client: ReceiverClient;
beforeAll(async () => {
  receiver = await startReceiver({ port: 0, secrets: [SECRET] });
  client = new ReceiverClient(receiver.url);
});
afterAll(() => receiver.stop());

async function deliver(id: string, more: { secret?: string; at?: Date; body?: string } = {}) {
  const at = more.at ?? new Date();
  const signed = '{"ref":"main"}';
  const answer = await fetch(`${receiver.url}/ci`, {
    method: 'POST',
    body: more.body ?? signed,
    headers: {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(more.secret ?? SECRET).sign(id, at, signed),
      'waybill-delivery-id': id,
      'waybill-event-type': 'push',
      'waybill-attempt': '2',
      'waybill-replay': '1',
    },
  });
  return answer.status;
}

test('a signed delivery is taken and remembered with its bytes and attempt', async () => {
  expect(await deliver('taken')).toBe(200);
  const sha256 = createHash('sha256').update('{"ref":"main"}').digest('hex');
  expect(await client.records('taken')).toMatchObject([
    { path: '/ci', eventType: 'push', attempt: 2, replay: 1, signature: 'verified', sha256 },
  ]);
  expect(await client.records('another')).toEqual([]);
});

test('another secret, other bytes or an old signature are refused, and remembered as such', async () => {
  expect(await deliver('forged', { secret: OTHER })).toBe(401);
  expect(await deliver('changed', { body: '{"ref":"evil"}' })).toBe(401);
  expect(await deliver('old', { at: new Date(Date.now() - 600_000) })).toBe(401);
  expect(await client.records('forged')).toMatchObject([{ signature: 'refused', status: 401 }]);
});

test('a path answers as it was told until it is told otherwise', async () => {
  await client.answer({ path: '/ci', status: 503 });
  expect(await deliver('down')).toBe(503);
  await client.answer({ path: '/ci', status: null });
  expect(await deliver('down')).toBe(200);
  expect((await client.records('down')).map(({ status }) => status)).toEqual([503, 200]);
  await expect(client.answer({ path: 'ci', status: 503 })).rejects.toThrow('answered 400');
});

test('a port that is taken is said to be', async () => {
  const port = Number(new URL(receiver.url).port);
  await expect(startReceiver({ port, secrets: [] })).rejects.toMatchObject({ code: 'port_in_use' });
});
