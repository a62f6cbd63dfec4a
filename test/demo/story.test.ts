/**
 * The story does not flatter: a line whose facts are otherwise does not come out. Doubled: what the
 * API and the ingress say; the receiver is real. (The story that comes out is in test/cli/up.)
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadPayloads, type Payloads } from '../../src/demo/payloads';
import { startReceiver, type RunningReceiver } from '../../src/demo/receiver';
import { ProviderControl } from '../../src/demo/provider-control';
import { ReceiverClient } from '../../src/demo/receiver-client';
import type { StoryDeps } from '../../src/demo/story/deps';
import { eventually } from '../../src/demo/story/expect';
import { playLine, story } from '../../src/demo/story/story';
import type { DeliveryHistory } from '../../src/schemas/api-deliveries';

const ID = '019b2f6c-8f9e-7cc3-a1b7-64d6b5f2c1aa';

let payloads: Payloads;
let receiver: RunningReceiver;
let ingress: Server;
/** What the ingress answers to everything. */
let answer: { status: number; content: object };

beforeAll(async () => {
  payloads = await loadPayloads();
  receiver = await startReceiver({ port: 0, secrets: [] });
  ingress = createServer((request, response) => {
    request.resume();
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer.content));
  });
  await new Promise<void>((resolve) => ingress.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await receiver.stop();
  ingress.closeAllConnections();
  await new Promise((resolve) => ingress.close(resolve));
});

function deps(delivery: Partial<DeliveryHistory>): StoryDeps {
  const refused = () => Promise.reject(new Error('the API has no such delivery'));
  return {
    payloads,
    api: {
      list: refused,
      show: () => Promise.resolve(delivery as DeliveryHistory),
      replay: refused,
    },
    actions: {
      ...{ startAction: refused, showAction: refused, cancelAction: refused },
      ...{ showRoute: refused, fleetStatus: refused },
    },
    receiver: new ReceiverClient(receiver.url),
    provider: new ProviderControl('http://127.0.0.1:1'),
    actionIngressUrl: () => '',
    ingressUrl: () => `http://127.0.0.1:${(ingress.address() as AddressInfo).port}/`,
    targetPath: () => '/releases',
    githubSecret: 'secret',
    failedWorkflows: () => Promise.resolve([]),
    withoutTemporal: null,
    withoutHost: refused,
    newGuid: () => 'guid',
  };
}

async function play(index: number, delivery: Partial<DeliveryHistory> = {}) {
  const chapter = story(deps(delivery)).chapters[index];
  if (chapter === undefined) throw new Error('there is no such line');
  return await playLine(chapter);
}

test('what is not accepted is told as such', async () => {
  answer = { status: 503, content: { code: 'storage_unavailable' } };
  const line = await play(0);
  expect(line).toMatchObject({ expected: false, id: null });
  expect(line.seen).toBe('not as expected: not accepted: 503 storage_unavailable');
});

test('a delivery that the API calls acknowledged, but the receiver never got, does not count', async () => {
  answer = { status: 202, content: { outcome: 'accepted', deliveryId: ID } };
  const line = await play(0, { deliveryId: ID, state: 'Acknowledged', attempts: 1 });
  expect(line).toMatchObject({ expected: false });
  expect(line.seen).toContain('the receiver got it 0 times');
});

test('a bad signature that comes in does not count', async () => {
  answer = { status: 202, content: { outcome: 'accepted', deliveryId: ID } };
  const line = await play(2);
  expect(line).toMatchObject({ expected: false });
  expect(line.seen).toContain('not refused: 202 accepted');
});

test('a line that rests on one that did not come out does not come out either', async () => {
  const line = await play(8);
  expect(line).toMatchObject({ expected: false });
  expect(line.seen).toContain('did not come out');
});

test('a Temporal server that is not ours is left alone, and the line says so', async () => {
  const line = await play(9);
  expect(line).toMatchObject({ expected: true, url: null });
  expect(line.seen).toContain('not ours to kill');
});

test('what is never seen fails after its deadline', async () => {
  const nothing = () => Promise.resolve(null);
  await expect(eventually('a miracle', 0, nothing)).rejects.toThrow('not seen in time: a miracle');
});
