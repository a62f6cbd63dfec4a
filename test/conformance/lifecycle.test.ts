/**
 * The suite with a lifecycle service of its own, as an author runs it: the host registers, beats and
 * drains over real sockets.
 */
import { LifecycleService } from '../../src/conformance/lifecycle-service';
import { runConformanceGroup } from '../../src/conformance/suite';
import type { ConformanceSetup } from '../../src/conformance/subject';
import type { Host } from '../../src/hosts/kit/host';
import { LIFECYCLE_AUDIENCE } from '../../src/hosts/protocol/lifecycle-calls';
import { newKey, trustIn } from '../hosts/support/fixtures';
import { notesHost, setupFor, type SandboxKeys } from './support/sandbox';

let keys: SandboxKeys;
let service: LifecycleService;
let ending: Promise<void> | undefined;
let terminate: () => void = () => undefined;

beforeAll(async () => {
  keys = { host: await newKey(), waybill: await newKey(), stranger: await newKey() };
});
beforeEach(async () => {
  ending = undefined;
  service = await LifecycleService.listen({
    listen: { host: '127.0.0.1', port: 0 },
    ...{ audience: LIFECYCLE_AUDIENCE, trust: trustIn(keys.waybill), did: null, nowMs: Date.now },
    terminate: () => {
      terminate();
    },
  });
});
afterEach(async () => {
  await ending;
  await service.close();
});

async function registered(heartbeatMs: number): Promise<[Host, ConformanceSetup]> {
  const host = await notesHost(keys, {
    registration: { url: service.url, heartbeatMs, retryMs: 20 },
  });
  const { incarnation } = (await service.registration(1_000)) ?? { incarnation: 0 };
  const setup = setupFor(host, keys, { lifecycle: service });
  return [host, { ...setup, subject: { ...setup.subject, incarnation } }];
}

async function lifecycleOf(setup: ConformanceSetup) {
  const results = await runConformanceGroup('lifecycle', setup);
  return results.map(({ id, verdict, why }) => [id, verdict, why]);
}

test('a host that registers, beats and drains passes', async () => {
  const [host, setup] = await registered(30);
  terminate = () => {
    ending = host.retire(5_000);
  };
  expect(await lifecycleOf(setup)).toEqual([
    ['lifecycle/register', 'passed', null],
    ['lifecycle/heartbeat', 'passed', null],
    ['lifecycle/drain', 'passed', null],
  ]);
});

test('a host that stops serving at once when it is asked to end fails to drain', async () => {
  const [host, setup] = await registered(30);
  terminate = () => {
    ending = host.stop();
  };
  const [, , drain] = await lifecycleOf(setup);
  expect(drain).toEqual([
    'lifecycle/drain',
    'failed',
    'it was asked to end, and did not say that it drains',
  ]);
});

test('what is wrong with a registration is named', async () => {
  const answer = await fetch(`${service.url}/v1/hosts/acme-tickets-1/register`, {
    method: 'POST',
    body: 'no.signed.call',
  });
  expect(answer.status).toBe(401);
  expect(service.registered).toMatch(
    /is not a lifecycle call that is signed by the key of its iss/,
  );
  expect(await service.registration(1)).toBeNull();
});
