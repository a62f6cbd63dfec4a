/**
 * Receiving: which request becomes what. Real: socket, server, signatures, Postgres, row security.
 * Doubled: the start of workflows. Asserted: answers and rows.
 */
import { randomUUID } from 'node:crypto';
import { until } from '../support/until';
import { insertCatalog, shippedScheme, type CatalogFixture } from '../support/catalog-fixture';
import { githubHeaders, Harness, problem, SECRET, sign } from './harness';

describe('an ingress', () => {
  let h: Harness;
  let hook: CatalogFixture;
  beforeAll(async () => {
    h = await Harness.start();
    hook = await insertCatalog(h.db);
  });
  afterAll(() => h.stop());

  it('stores a signed request before it answers, then starts its workflow', async () => {
    const answer = await h.post(hook.ingressRef, '{"n":1}', {
      id: 'first',
      headers: { 'content-type': 'application/json', 'x-github-hook-id': '7', cookie: 'c=1' },
    });
    expect(answer.status).toBe(202);
    const [row] = await h.stored();
    expect(answer.body).toEqual({ outcome: 'accepted', deliveryId: row?.delivery_id });
    expect(row).toMatchObject({
      state: 'Received',
      external_id: 'first',
      event_type: 'push',
      content_type: 'application/json',
      evidence: { scheme: 'hmac', secretId: 'current', signatureField: 'X-Hub-Signature-256' },
    });
    expect(row?.payload?.toString()).toBe('{"n":1}');
    expect(row?.kept_headers).toContainEqual(['x-github-hook-id', '7']);
    expect(row?.evidence).not.toHaveProperty('remoteAddress');
    expect(JSON.stringify(row)).not.toContain('c=1');
    expect(h.started).toEqual([row?.delivery_id]);
  });

  it('gives notice of a request in the express lane, and starts no workflow', async () => {
    const quick = await insertCatalog(h.db, { subscription: 'quick', lane: 'express' });
    const answer = await h.post(quick.ingressRef, '{"n":1}');
    expect(answer.body).toMatchObject({ outcome: 'accepted' });
    expect(h.started).toContain('express');
    expect(h.started).not.toContain(answer.body['deliveryId']);
  });

  it('makes one delivery of twenty copies that arrive at once, and all answers name it', async () => {
    const id = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => h.post(hook.ingressRef, '{"n":2}', { id })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 202));
    const rows = (await h.stored()).filter(({ external_id }) => external_id === id);
    const [first, ...others] = rows.filter(({ state }) => state === 'Received');
    expect(others).toEqual([]);
    expect(rows.filter(({ state }) => state === 'Deduplicated')).toHaveLength(19);
    const named = answers.map(({ body }) => body['firstDeliveryId'] ?? body['deliveryId']);
    expect(new Set(named)).toEqual(new Set([first?.delivery_id]));
    expect(h.started.filter((started) => started === first?.delivery_id)).toHaveLength(1);
  });

  it('records other bytes under the same id as a conflict and starts nothing', async () => {
    const id = randomUUID();
    const first = await h.post(hook.ingressRef, '{"n":3}', { id });
    const second = await h.post(hook.ingressRef, '{"n":4}', { id });
    expect(second.status).toBe(202);
    expect(second.body).toMatchObject({
      outcome: 'conflict',
      firstDeliveryId: first.body['deliveryId'],
    });
    const row = (await h.stored()).find((r) => r.delivery_id === second.body['deliveryId']);
    expect(row).toMatchObject({
      state: 'Deduplicated',
      conflict: true,
      duplicate_of: first.body['deliveryId'],
    });
    expect(row?.payload?.toString()).toBe('{"n":4}');
    expect(h.started).not.toContain(second.body['deliveryId']);
  });

  it('takes the same id and bytes once for each subscription', async () => {
    const other = await insertCatalog(h.db, { subscription: 'audit' });
    const id = randomUUID();
    const answers = [
      await h.post(hook.ingressRef, '{"n":5}', { id }),
      await h.post(other.ingressRef, '{"n":5}', { id }),
    ];
    expect(answers.map(({ body }) => body['outcome'])).toEqual(['accepted', 'accepted']);
  });

  it('ignores an event type that the subscription does not take, and stores nothing', async () => {
    const only = await insertCatalog(h.db, { subscription: 'only', eventTypes: ['release'] });
    const before = await h.stored();
    const answer = await h.post(only.ingressRef, '{}', { event: 'push' });
    expect(answer).toMatchObject({ status: 202, body: { outcome: 'ignored' } });
    expect(await h.stored()).toHaveLength(before.length);
    expect(h.counted.at(-1)).toBe('ignored');
    expect(h.log.at(-1) ?? '').not.toContain('{}"');
    const taken = await h.post(only.ingressRef, '{}', { event: 'release' });
    expect(taken.body['outcome']).toBe('accepted');
  });

  it('gives an event without a type the type unknown', async () => {
    const answer = await h.post(hook.ingressRef, '{"n":6}', { event: '' });
    const row = (await h.stored()).find((r) => r.delivery_id === answer.body['deliveryId']);
    expect(row?.event_type).toBe('unknown');
  });

  it('keeps collecting while its subscription is paused', async () => {
    const paused = await insertCatalog(h.db, { subscription: 'paused' });
    await h.db.rows(
      `update waybill.subscriptions set state = 'paused' where subscription_id = 'paused'`,
    );
    expect(await h.post(paused.ingressRef, '{}')).toMatchObject({
      status: 202,
      body: { outcome: 'accepted' },
    });
  });

  it.each([
    ['its subscription', `update waybill.subscriptions set state = 'deactivated'`],
    ['its instance', `update waybill.instances set status = 'revoked'`],
    ['its connector version', `update waybill.connector_versions set status = 'revoked'`],
  ])('answers 410 once %s is deactivated', async (_what, change) => {
    const own = await Harness.start();
    try {
      const gone = await insertCatalog(own.db);
      await own.db.rows(change);
      expect(problem(await own.post(gone.ingressRef, '{}'))).toMatchObject({
        status: 410,
        code: 'ingress_gone',
      });
      expect(await own.stored()).toEqual([]);
    } finally {
      await own.stop();
    }
  });

  it.each([
    ['its instance', `update waybill.instances set status = 'disabled'`],
    ['its connector', 'update waybill.connectors set enabled = false'],
    ['its subscription', `update waybill.subscriptions set state = 'paused'`],
  ])('collects while %s is switched off', async (_what, change) => {
    const own = await Harness.start();
    try {
      const off = await insertCatalog(own.db);
      await own.db.rows(change);
      expect((await own.post(off.ingressRef, '{}')).status).toBe(202);
      expect(await own.stored()).toMatchObject([{ state: 'Received' }]);
    } finally {
      await own.stop();
    }
  });

  it('that was looked up a moment ago is used again, and a change is seen soon after', async () => {
    const own = await Harness.start({ ingressKeptMs: 300 });
    try {
      const kept = await insertCatalog(own.db);
      expect((await own.post(kept.ingressRef, '{"n":1}')).status).toBe(202);
      await own.db.rows(`update waybill.subscriptions set state = 'deactivated'`);
      await until('it is gone', async () =>
        (await own.post(kept.ingressRef, '{"n":2}')).status === 410 ? true : null,
      );
    } finally {
      await own.stop();
    }
  });

  it.each([
    ['nobody knows', 'nobody'],
    ['holds a NUL', '%00'],
    ['ends with a line break', 'acme-pushes-ingress%0A'],
    ['is long', 'x'.repeat(600)],
    ['is longer than a path may be', 'y'.repeat(1500)],
    ['climbs', '..%2f..%2fhealth'],
    ['is not ASCII', '%F0%9F%98%80'],
    ['is not readable', '%zz'],
  ])('answers 404 to a reference that %s', async (_what, ref) => {
    expect(problem(await h.post(ref, '{}')).status).toBe(404);
  });

  it('answers 404 where the connector has no scheme', async () => {
    const mute = await insertCatalog(h.db, { tenant: 'mute', scheme: 'stripe' });
    await h.db.rows(
      `update waybill.connector_versions set webhook_scheme = null where connector_id = 'stripe'`,
    );
    expect(problem(await h.post(mute.ingressRef, '{}')).code).toBe('unknown_ingress');
  });

  it('verifies a signed URL by the configured one, whatever the request says of itself', async () => {
    const signed = await insertCatalog(h.db, { tenant: 'signer', scheme: 'slack' });
    await h.db.rows(
      `update waybill.connector_versions set webhook_scheme =
        jsonb_set($1::jsonb, '{message}', '"{url}|{body}"') where connector_id = 'slack'`,
      [JSON.stringify(shippedScheme('github'))],
    );
    const path = `/webhooks/${signed.ingressRef}?b=2&a=%201`;
    const post = async (url: string) => {
      const body = Buffer.from('{}');
      const response = await fetch(`${h.url}${path}`, {
        method: 'POST',
        headers: {
          ...githubHeaders(body),
          'x-hub-signature-256': `sha256=${sign(Buffer.from(`${url}|{}`), SECRET)}`,
          'x-forwarded-host': 'elsewhere.example.test',
        },
        body,
      });
      return response.status;
    };
    expect(await post(`https://hooks.example.test${path}`)).toBe(202);
    expect(await post(`${h.url}${path}`)).toBe(401);
    expect(await post(`https://elsewhere.example.test${path}`)).toBe(401);
  });

  it('logs tenant, delivery and outcome, and never a payload, a header value or a secret', async () => {
    const answer = await h.post(hook.ingressRef, '{"mark":"payload-mark"}', {
      id: 'external-mark',
      event: 'event-mark',
      headers: { 'x-github-hook-id': 'header-mark' },
    });
    const line = h.log.find((l) => l.includes(String(answer.body['deliveryId']))) ?? '';
    expect(JSON.parse(line)).toMatchObject({ tenantId: 'acme', outcome: 'accepted' });
    const all = h.log.join('\n');
    for (const mark of ['payload-mark', 'external-mark', 'header-mark', SECRET]) {
      expect(all).not.toContain(mark);
    }
  });
});

test('ids are remembered for as long as the vendor sends again, and never shorter than the window', async () => {
  const own = await Harness.start();
  try {
    const remembered = async (
      scheme: string,
      headers: (body: string) => Record<string, string>,
    ) => {
      const hook = await insertCatalog(own.db, { tenant: scheme, scheme });
      const body = JSON.stringify({ id: 'evt_1', type: 'push' });
      const sent = await own.post(hook.ingressRef, body, { headers: headers(body) });
      expect(sent.body['outcome']).toBe('accepted');
      const [key] = await own.db.rows<{ minutes: number }>(
        `select round(extract(epoch from expires_at - now()) / 60)::integer as minutes
          from waybill.dedup_keys where tenant_id = $1`,
        [scheme],
      );
      return key?.minutes;
    };
    const at = Math.floor(Date.now() / 1000);
    const stripe = (body: string) => ({
      'stripe-signature': `t=${at},v1=${sign(Buffer.from(`${at}.${body}`), SECRET)}`,
    });
    expect(await remembered('github', () => ({}))).toBe(60);
    expect(await remembered('stripe', stripe)).toBe(3 * 24 * 60);
    await own.db.rows('update waybill.settings set replay_window_minutes = 10000');
    await own.db.rows('delete from waybill.dedup_keys');
    const again = await own.post('stripe-pushes-ingress', '{"id":"evt_2","type":"push"}', {
      headers: stripe('{"id":"evt_2","type":"push"}'),
    });
    expect(again.body['outcome']).toBe('accepted');
    const [key] = await own.db.rows<{ long: boolean }>(
      `select expires_at > now() + interval '6 days' as long from waybill.dedup_keys`,
    );
    expect(key).toEqual({ long: true });
  } finally {
    await own.stop();
  }
});
