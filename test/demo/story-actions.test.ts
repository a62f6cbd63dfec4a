/**
 * The story's lines about actions do not flatter. Doubled: what the API says and the hosts; the
 * provider and its records are real. (The story that comes out is in test/cli/up.)
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadPayloads, type Payloads } from '../../src/demo/payloads';
import { ProviderControl } from '../../src/demo/provider-control';
import { ReceiverClient } from '../../src/demo/receiver-client';
import type { StoryDeps } from '../../src/demo/story/deps';
import { playLine, story } from '../../src/demo/story/story';
import { WaybillError } from '../../src/domain/errors';
import { startProvider, type Provider } from '../../src/hosts/provider/provider';
import type { Action } from '../../src/schemas/api-actions';
import type { DeliveryHistory } from '../../src/schemas/api-deliveries';
import type { TenantFleet } from '../../src/schemas/api-fleet';
import type { RouteDetail } from '../../src/schemas/api-routes';

const DELIVERY = '019b2f6c-8f9e-7cc3-a1b7-64d6b5f2c1aa';
const OPENED = 10;
const HOST_KILLED = 11;
const ASKED_AGAIN = 12;
const CANCELLED = 13;

const folder = mkdtempSync(path.join(tmpdir(), 'waybill-story-'));
let payloads: Payloads;
let provider: Provider;
let ingress: Server;
/** The id of the action that the lines start. */
let actionId = '';

beforeAll(async () => {
  payloads = await loadPayloads();
  provider = await startProvider({
    file: path.join(folder, 'provider.sqlite'),
    accounts: { token: 'demo' },
    listen: { host: '127.0.0.1', port: 0 },
  });
  ingress = createServer((request, response) => {
    request.resume();
    response.writeHead(202, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ outcome: 'accepted', deliveryId: DELIVERY }));
  });
  await new Promise<void>((resolve) => ingress.listen(0, '127.0.0.1', resolve));
});
beforeEach(() => {
  actionId = crypto.randomUUID();
});
afterAll(async () => {
  await provider.stop();
  ingress.closeAllConnections();
  await new Promise((resolve) => ingress.close(resolve));
  rmSync(folder, { recursive: true });
});

/** The effect of a host. */
function effect(reference: string, kind: 'ticket' | 'job' = 'ticket'): string {
  const durationMs = kind === 'job' ? 600_000 : 0;
  const wish = {
    kind,
    reference,
    title: 'x',
    idempotencyKey: null,
    approval: null,
    durationMs,
    account: 'demo',
  };
  const created = provider.ledger.create(wish);
  if (created.kind === 'key_conflict') throw new Error('it has no key');
  return created.effect.id;
}

function action(more: object): Action {
  return {
    ...{ actionId, state: 'completed', closedAt: 'now', attemptCount: 1, attempts: [] },
    ...{ route: { replicaId: 'h1', assignedAt: 'then' }, result: null, workflowUrl: null },
    ...more,
  } as unknown as Action;
}

function withTicket(ticketId: string, more: object = {}): Action {
  return action({ result: { result: { ticketId } }, ...more });
}

interface Doubled {
  /** Each is asked for in turn, the last one again and again. */
  readonly shown?: readonly Action[];
  readonly start?: (request: unknown) => Promise<Action>;
  readonly load?: number;
}

function deps({ shown = [], start, load = 0 }: Doubled): StoryDeps {
  const answers = [...shown];
  const nothing = () => Promise.reject(new Error('nobody asked for that'));
  const url = `http://127.0.0.1:${(ingress.address() as AddressInfo).port}/`;
  const delivery = { deliveryId: DELIVERY, state: 'Acknowledged', workflowUrl: null };
  const replicas = [{ replicaId: 'h1', activeAssignments: load }];
  return {
    payloads,
    api: {
      list: nothing,
      show: () => Promise.resolve(delivery as unknown as DeliveryHistory),
      replay: nothing,
    },
    actions: {
      startAction: (_id, { request }) => (start ?? (() => Promise.resolve(action({}))))(request),
      showAction: () => {
        const next = answers.length > 1 ? answers.shift() : answers[0];
        return next === undefined ? nothing() : Promise.resolve(next);
      },
      cancelAction: () => Promise.resolve({ decision: 'requested', action: action({}) }),
      showRoute: () => Promise.resolve({ openUntil: null } as unknown as RouteDetail),
      fleetStatus: () => Promise.resolve({ replicas } as unknown as TenantFleet),
    },
    receiver: new ReceiverClient(url),
    provider: new ProviderControl(provider.url),
    ingressUrl: () => url,
    targetPath: () => '/',
    actionIngressUrl: () => url,
    githubSecret: 'secret',
    failedWorkflows: () => Promise.resolve([]),
    withoutTemporal: null,
    withoutHost: (_replicaId, work) => work(),
    newGuid: () => actionId,
  };
}

async function play(index: number, doubled: Doubled) {
  const chapter = story(deps(doubled)).chapters[index];
  if (chapter === undefined) throw new Error('there is no such line');
  return await playLine(chapter);
}

/** What a host does when it is called, held back by the provider as it was told. */
async function calledHost(): Promise<Action> {
  void fetch(`${provider.url}/v1/tickets`, {
    method: 'POST',
    headers: { authorization: 'Bearer token', 'content-type': 'application/json' },
    body: JSON.stringify({ title: 'x', reference: actionId }),
  });
  return await Promise.resolve(action({ state: 'dispatching', closedAt: null }));
}

function madeTicket(): string {
  return provider.ledger.findByReference('demo', actionId)[0]?.id ?? '';
}

test('an acknowledged delivery whose ticket the provider never made does not count', async () => {
  const line = await play(OPENED, { shown: [withTicket('t1')] });
  expect(line).toMatchObject({ expected: false, id: null });
  expect(line.seen).toContain('the provider made 0 effects of it');
});

test('nor does one that the provider made twice', async () => {
  const ticketId = effect(actionId);
  effect(actionId);
  const line = await play(OPENED, { shown: [withTicket(ticketId)] });
  expect(line.seen).toContain('the provider made 2 effects of it');
});

test('an action that went to another host than the one that was killed does not count', async () => {
  const unknown = action({ attempts: [{ settlement: 'outcome_unknown' }] });
  const moved = action({ route: { replicaId: 'h2', assignedAt: 'later' } });
  const shown = [unknown, unknown, { ...moved, ...{ result: withTicket('t1').result } }];
  const line = await play(HOST_KILLED, { shown, start: calledHost });
  expect(line).toMatchObject({ expected: false });
  expect(line.seen).toContain('it went to h2, not back to h1');
  expect(await new ProviderControl(provider.url).held()).toBe(0);
});

test('another request under the id of an action that is taken does not count', async () => {
  const chapters = story({
    ...deps({}),
    actions: {
      ...deps({ start: () => Promise.resolve(withTicket(madeTicket())) }).actions,
      showAction: () =>
        Promise.resolve(
          withTicket(madeTicket(), { attempts: [{ settlement: 'outcome_unknown' }] }),
        ),
      startAction: async (_id, _wish, waitMs) =>
        madeTicket() === '' ? await calledHost() : withTicket(madeTicket(), { waitMs }),
    },
  }).chapters;
  const [killed, again] = [chapters[HOST_KILLED], chapters[ASKED_AGAIN]];
  if (killed === undefined || again === undefined) throw new Error('there are no such lines');
  expect(await playLine(killed)).toMatchObject({ expected: true, id: actionId });
  const line = await playLine(again);
  expect(line).toMatchObject({ expected: false });
  expect(line.seen).toContain('another request under its id: it was taken');
});

test('the same line comes out when the other request is refused', async () => {
  let asked = 0;
  const chapters = story({
    ...deps({}),
    actions: {
      ...deps({}).actions,
      showAction: () =>
        Promise.resolve(
          withTicket(madeTicket(), { attempts: [{ settlement: 'outcome_unknown' }] }),
        ),
      startAction: async () => {
        asked += 1;
        if (asked === 3) throw new WaybillError('action_conflict');
        return asked === 1 ? await calledHost() : withTicket(madeTicket());
      },
    },
  }).chapters;
  const lines = [];
  for (const chapter of chapters.slice(HOST_KILLED, CANCELLED)) lines.push(await playLine(chapter));
  expect(lines.map(({ expected }) => expected)).toEqual([true, true]);
  expect(lines[1]?.seen).toContain('409 action_conflict; still one effect');
});

test('a cancelled action whose report is still built does not count', async () => {
  const start = () => {
    effect(actionId, 'job');
    return Promise.resolve(action({ closedAt: null }));
  };
  const shown = [action({ state: 'cancelled', attempts: [{ settlement: 'cancelled' }] })];
  const line = await play(CANCELLED, { shown, start, load: 1 });
  expect(line.seen).toContain('the provider still builds the report');
});

test('nor does one that keeps its place', async () => {
  const start = () => {
    provider.ledger.cancel('demo', effect(actionId, 'job'));
    return Promise.resolve(action({ closedAt: null }));
  };
  const shown = [action({ state: 'cancelled', attempts: [{ settlement: 'cancelled' }] })];
  const line = await play(CANCELLED, { shown, start, load: 1 });
  expect(line.seen).toContain('1 places of h1 are taken; 1 were before');
});
