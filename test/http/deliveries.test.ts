/**
 * One delivery's history, its replay, and who may see or do that. Real: socket, server, Postgres,
 * row security, receipts, the decision of a replay. Doubled: the nudge of the workflow.
 */
import { Client, Connection } from '@temporalio/client';
import pino from 'pino';
import type { DeliveryHistory, ReplayAccepted } from '../../src/schemas/api-deliveries';
import { verifyReceiptChain } from '../../src/signing/receipts/verify-chain';
import { DeliveryWorkflows } from '../../src/temporal/delivery-starter';
import { DeliveryStarts } from '../../src/workers/delivery-starts';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { until } from '../support/until';
import { Harness, OPERATE, problem, READ } from './harness';

const NOBODYS = '0198c1f0-0000-7000-8000-000000000000';

describe('a delivery', () => {
  let h: Harness;
  let hook: CatalogFixture;
  beforeAll(async () => {
    h = await Harness.start();
    hook = await insertCatalog(h.db);
    await insertCatalog(h.db, { tenant: 'rival' });
  });
  afterAll(() => h.stop());

  const accept = async () => {
    const answer = await h.post(hook.ingressRef, '{"n":1}', {
      headers: { 'content-type': 'application/json' },
    });
    return String(answer.body['deliveryId']);
  };
  const failed = async () => {
    const id = await accept();
    await h.fail('acme', id);
    return id;
  };
  const show = async (id: string) =>
    (await h.call<DeliveryHistory>(`/factory/deliveries/${id}`)).body;
  const replay = (id: string, tenant = 'acme') =>
    h.call(`/factory/deliveries/${id}/replay`, { tenant, json: { reason: 'target repaired' } });

  it('shows its whole history', async () => {
    const id = await failed();
    await replay(id);
    const history = await show(id);
    expect(history).toMatchObject({
      deliveryId: id,
      state: 'Replayed',
      series: 2,
      attempts: 1,
      contentType: 'application/json',
      evidence: { scheme: 'hmac', secretId: 'current' },
      receiptRef: `delivery/${id}/2`,
      workflowId: `delivery/acme/${id}`,
      attemptHistory: [
        {
          attempt: 1,
          series: 1,
          outcome: 'refused',
          status: 404,
          durationMs: 12,
          answerHead: 'no such hook',
          targetId: 'pushes-target',
        },
      ],
      receipts: [
        { seq: 1, kind: 'failed' },
        { seq: 2, kind: 'replayed' },
      ],
      replays: [{ replayedBy: 'ada@example.test', reason: 'target repaired', series: 2 }],
    });
    expect(history.attemptHistory[0]?.openedAt).toMatch(/^\d{4}-.*T.*\.\d{6}Z$/);
    expect(history.keptHeaders).toContainEqual(['x-github-event', 'push']);
  });

  it('shows receipts that verify with the published keys', async () => {
    const id = await failed();
    await replay(id);
    const { receipts } = await show(id);
    const keys = await h.call('/.well-known/jwks.json', { token: null });
    expect(keys.headers.get('content-type')).toMatch(/^application\/json/);
    const verdict = await verifyReceiptChain(
      receipts.map(({ jws }) => jws),
      keys.body as unknown as Parameters<typeof verifyReceiptChain>[1],
    );
    expect(verdict).toMatchObject({ ok: true });
  });

  it('that is a duplicate names the first one', async () => {
    const first = await h.post(hook.ingressRef, '{}', { id: 'twice' });
    const second = await h.post(hook.ingressRef, '{}', { id: 'twice' });
    expect(await show(String(second.body['deliveryId']))).toMatchObject({
      state: 'Deduplicated',
      duplicateOf: first.body['deliveryId'],
      workflowId: null,
      attemptHistory: [],
      receipts: [],
      replays: [],
    });
  });

  it('is replayed once by many clicks, and its workflow is nudged', async () => {
    const id = await failed();
    const answers = await Promise.all(Array.from({ length: 5 }, () => replay(id)));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
    const bodies = answers.map(({ body }) => body as ReplayAccepted & Record<string, unknown>);
    expect(bodies.filter(({ outcome }) => outcome === 'replayed')).toHaveLength(1);
    expect(bodies.filter(({ outcome }) => outcome === 'already_replaying')).toHaveLength(4);
    for (const body of bodies) {
      expect(body).toMatchObject({ deliveryId: id, series: 2, state: 'Replayed' });
    }
    expect(h.nudged).toContain(id);
    expect((await show(id)).replays).toHaveLength(1);
  });

  it('is replayed under the id that is stored, however the path spells it', async () => {
    const id = await failed();
    expect((await replay(id.toUpperCase())).body).toMatchObject({ deliveryId: id });
    expect(h.nudged.at(-1)).toBe(id);
  });

  it('that has not failed is not replayed, and the answer says its state', async () => {
    const answer = await replay(await accept());
    expect(problem(answer)).toMatchObject({
      status: 409,
      code: 'delivery_not_failed',
      state: 'Received',
    });
  });

  it.each([
    ['no reason', {}, 'reason'],
    ['an empty reason', { reason: '  ' }, 'reason'],
    ['a long reason', { reason: 'x'.repeat(501) }, 'reason'],
    ['a NUL in its reason', { reason: 'a\0b' }, 'reason'],
    ['half a surrogate pair in its reason', { reason: '\ud800' }, 'reason'],
    ['a reason that is no text', { reason: 7 }, 'reason'],
    ['an unknown field', { reason: 'r', force: true }, 'force'],
    ['a tenant', { reason: 'r', tenant: 'rival' }, 'tenant'],
    ['no object', ['reason'], 'body'],
    ['nothing', null, 'body'],
  ])('is not replayed with %s', async (_what, json, field) => {
    const answer = await h.call(`/factory/deliveries/${NOBODYS}/replay`, { json });
    expect(problem(answer)).toMatchObject({ status: 400, code: 'invalid_request', field });
  });

  it.each([
    ['text', 'text/plain', 'reason'],
    ['no JSON', 'application/json', '{"reason":'],
    ['an empty body', 'application/json', ''],
    ['a poisoned prototype', 'application/json', '{"reason":"r","__proto__":{}}'],
  ])('is not replayed with %s as a body', async (_what, type, body) => {
    const response = await fetch(`${h.url}/factory/deliveries/${NOBODYS}/replay`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await h.token()}`, 'content-type': type },
      body,
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'invalid_request' });
  });

  it('of another tenant is as unknown as one that never was', async () => {
    const id = await failed();
    const foreign = [
      await h.call(`/factory/deliveries/${id}`, { tenant: 'rival' }),
      await replay(id, 'rival'),
    ];
    const unknown = [
      await h.call(`/factory/deliveries/${NOBODYS}`, { tenant: 'rival' }),
      await replay(NOBODYS, 'rival'),
    ];
    const told = (answers: typeof foreign) =>
      answers.map((answer) => ({ ...problem(answer), requestId: '' }));
    expect(told(foreign)).toEqual(told(unknown));
    expect(told(foreign).map(({ status }) => status)).toEqual([404, 404]);
    expect(h.nudged).not.toContain(id);
    expect(await show(id)).toMatchObject({ state: 'Failed', replays: [], series: 1 });
  });

  it('with an id that is none is refused by name', async () => {
    const answer = await h.call('/factory/deliveries/17');
    expect(problem(answer)).toMatchObject({ code: 'invalid_request', field: 'deliveryId' });
  });

  it('is shown with the scope of reading and replayed with that of operating', async () => {
    const id = await failed();
    const unseen = await h.call(`/factory/deliveries/${id}`, { scopes: [OPERATE] });
    expect(problem(unseen).detail).toContain(READ);
    const undone = await h.call(`/factory/deliveries/${id}/replay`, {
      scopes: [READ],
      json: { reason: 'r' },
    });
    expect(problem(undone)).toMatchObject({ status: 403, code: 'scope_missing' });
    expect(undone.body['detail']).toContain(OPERATE);
    expect((await show(id)).state).toBe('Failed');
  });

  it('is replayed also while Temporal is away', async () => {
    // Without the client's own retries, which go on for as long as chance has it.
    const nowhere = Connection.lazy({ address: '127.0.0.1:1', interceptors: [] });
    const timing = { failedWaitMs: 1_000, heldPollMs: 1_000, heartbeatMs: 1_000 };
    const workflows = new DeliveryWorkflows(new Client({ connection: nowhere }), 'none', timing);
    const said: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line) => void said.push(line) });
    const starter = new DeliveryStarts({ workflows, data: h.db.as('waybill_data'), log });
    const app = await h.alsoServe({ starter });
    try {
      const answer = await h.call(`/factory/deliveries/${await failed()}/replay`, {
        base: app.base,
        json: { reason: 'r' },
      });
      expect(answer).toMatchObject({ status: 202, body: { outcome: 'replayed' } });
      await until('the log says so', () =>
        Promise.resolve(said.find((line) => line.includes('Temporal was not reached'))),
      );
    } finally {
      await app.close();
      await nowhere.close();
    }
  });
});
