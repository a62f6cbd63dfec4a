/**
 * The typed client against the API. Real: client, server, socket, Postgres. What a passing fault is, a
 * small server plays. Doubled: the starter of workflows; the test ends the action as one would.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  answerOf,
  createWaybillClient,
  runAction,
  waitForAction,
  WaybillProblem,
  type WaybillClient,
} from '../../src/client';
import { CAPABILITY, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { Harness } from '../http/harness';

describe('the client', () => {
  let h: Harness;
  let client: WaybillClient;
  beforeAll(async () => {
    h = await Harness.start();
    const rig = new Rig(postgresFixture(h.db));
    await rig.account();
    const scopes = ['factory.connections.read', 'factory.actions.run', 'factory.actions.read'];
    client = createWaybillClient({ baseUrl: `${h.url}/`, token: () => h.token({ scopes }) });
  });
  afterAll(() => h.stop());

  it('answers what the document says, and throws problems by their code', async () => {
    const page = await answerOf(client.GET('/factory/deliveries', { params: { query: {} } }));
    expect(page.deliveries).toEqual([]);
    const refused = answerOf(client.GET('/v1/fleet/status', { params: { query: {} } }));
    await expect(refused).rejects.toThrow(WaybillProblem);
    await expect(refused).rejects.toMatchObject({ status: 403, code: 'scope_missing' });
  });

  it('runs an action to its end, and meets it again', async () => {
    const body = { capabilityId: CAPABILITY, request: {} };
    const running = runAction(client, 'a-1', body);
    const cancel = async () => {
      const path = { actionId: 'a-1' };
      const { response } = await client.POST('/v1/actions/{actionId}/cancel', {
        ...{ params: { path }, body: { reason: 'enough' } },
      });
      return response.status;
    };
    while ((await cancel()) === 404);
    expect(await running).toMatchObject({ actionId: 'a-1', state: 'cancelled' });
    expect(await runAction(client, 'a-1', body)).toMatchObject({ state: 'cancelled' });
    expect(await waitForAction(client, 'a-1')).toMatchObject({ state: 'cancelled' });
    const aborted = waitForAction(client, 'a-1', { signal: AbortSignal.abort() });
    await expect(aborted).rejects.toThrow();
  });
});

describe('a passing fault', () => {
  let server: Server;
  let answers: [number, Record<string, string>, string?][] = [];
  const asked: { method: string; key: string | undefined; body: string }[] = [];
  let client: WaybillClient;
  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (piece: Buffer) => (body += piece.toString()));
      request.on('end', () => {
        const key = request.headers['idempotency-key'];
        asked.push({ method: request.method ?? '', key: [key].flat()[0], body });
        const [status, headers, text] = answers.shift() ?? [200, {}];
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(text ?? '{"view":"live"}');
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    client = createWaybillClient({ baseUrl, token: 't', retries: 2 });
  });
  afterAll(() => new Promise((done) => server.close(done)));
  beforeEach(() => asked.splice(0));

  const list = () => client.GET('/factory/targets', { params: { query: {} } });
  const plan = (key?: string) =>
    client.POST('/v1/replays', {
      body: { reason: 'repaired' },
      ...(key === undefined ? {} : { params: { header: { 'Idempotency-Key': key } } }),
    });

  it('is met again, up to a bound', async () => {
    answers = [
      [503, {}],
      [429, {}],
      [200, {}],
    ];
    expect((await list()).response.status).toBe(200);
    expect(asked).toHaveLength(3);
    answers = [
      [503, {}],
      [503, {}],
      [503, {}],
      [200, {}],
    ];
    expect((await list()).response.status).toBe(503);
    answers = [];
  });

  it('is met again with the same key and body, also while the first is under way', async () => {
    const inFlight = '{"code":"idempotency_in_flight","detail":"under way"}';
    answers = [
      [409, {}, inFlight],
      [200, {}],
    ];
    expect((await plan('k-1')).response.status).toBe(200);
    expect(asked).toHaveLength(2);
    expect(asked[0]).toEqual(asked[1]);
    expect(asked[0]).toMatchObject({ key: 'k-1', body: '{"reason":"repaired"}' });
  });

  it('waits as long as it is told', async () => {
    answers = [
      [503, { 'retry-after': '1' }],
      [200, {}],
    ];
    const from = performance.now();
    await list();
    expect(performance.now() - from).toBeGreaterThan(990);
  });

  it('is not met again where that could do something twice, or is for good', async () => {
    answers = [[503, {}]];
    expect((await plan()).response.status).toBe(503);
    answers = [[409, {}, '{"code":"too_many_replays","detail":"20"}']];
    expect((await plan('k-2')).response.status).toBe(409);
    expect(asked).toHaveLength(2);
  });
});
