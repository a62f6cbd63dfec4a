/**
 * Requests that are not verified: recorded with the reason, bounded per sender, never taking an id.
 * Real: socket, server, signatures, secrets, Postgres.
 */
import { randomUUID } from 'node:crypto';
import { network, refusalLimit } from '../../src/http/refusals';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { Harness, problem, SECRET, sign } from './harness';

describe('a request with a bad signature', () => {
  let h: Harness;
  let hook: CatalogFixture;
  beforeEach(async () => {
    h = await Harness.start();
    hook = await insertCatalog(h.db);
  });
  afterEach(() => h.stop());

  it('is answered 401 and recorded with the reason and its bytes', async () => {
    const answer = await h.post(hook.ingressRef, '{"n":1}', { id: 'known', secret: 'wrong' });
    expect(problem(answer)).toMatchObject({ status: 401, code: 'signature_refused' });
    const [row] = await h.stored();
    expect(row).toMatchObject({
      state: 'Rejected',
      reason: 'signature_mismatch',
      external_id: 'known',
      event_type: 'push',
      evidence: { scheme: 'hmac', remoteAddress: '127.0.0.1' },
    });
    expect(row?.payload?.toString()).toBe('{"n":1}');
    expect(await h.dedupKeys()).toBe(0);
    expect(h.started).toEqual([]);
    // Its id was not marked as seen.
    const good = await h.post(hook.ingressRef, '{"n":1}', { id: 'known' });
    expect(good.body['outcome']).toBe('accepted');
  });

  it.each([
    ['no signature', {}, 'missing_signature'],
    ['an empty signature', { 'x-hub-signature-256': '' }, 'empty_signature'],
    ['no hex', { 'x-hub-signature-256': 'sha256=zz' }, 'malformed_signature'],
    ['another hash', { 'x-hub-signature-256': 'sha1=00' }, 'malformed_signature'],
  ])('is recorded also with %s', async (_what, headers, reason) => {
    const response = await fetch(`${h.url}/webhooks/${hook.ingressRef}`, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: '{}',
    });
    expect(response.status).toBe(401);
    expect(await h.stored()).toMatchObject([{ state: 'Rejected', reason, external_id: null }]);
  });

  it('counts for its sender, whom only a trusted balancer may name', async () => {
    const trusting = await h.alsoServe({ trustedProxies: ['127.0.0.1'] });
    const statuses = new Map<string, number[]>();
    for (const base of [trusting.base, h.url]) {
      const seen: number[] = [];
      for (let n = 0; n < 62; n += 1) {
        const headers = { 'x-forwarded-for': `203.0.113.${n}` };
        seen.push((await h.post(hook.ingressRef, '{}', { secret: 'wrong', base, headers })).status);
      }
      statuses.set(base, seen);
    }
    await trusting.close();
    expect(statuses.get(trusting.base)).not.toContain(429);
    expect(statuses.get(h.url)).toContain(429);
  });

  it('is recorded sixty times a minute for one sender, and verified ones pass all the while', async () => {
    const other = await insertCatalog(h.db, { subscription: 'other' });
    const statuses: number[] = [];
    for (let n = 0; n < 63; n += 1) {
      const { status } = await h.post(hook.ingressRef, `{"n":${n}}`, { secret: 'wrong' });
      statuses.push(status);
    }
    expect(statuses.filter((status) => status === 401)).toHaveLength(60);
    const limited = await h.post(hook.ingressRef, '{}', { secret: 'wrong' });
    expect(problem(limited)).toMatchObject({ status: 429, code: 'rejections_limited' });
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await h.stored()).toHaveLength(60);
    expect((await h.post(hook.ingressRef, '{}')).body['outcome']).toBe('accepted');
    // Another ingress counts for itself.
    expect((await h.post(other.ingressRef, '{}', { secret: 'wrong' })).status).toBe(401);
  });
});

describe('a request whose signed time is outside the tolerance', () => {
  let h: Harness;
  let billing: CatalogFixture;
  beforeAll(async () => {
    h = await Harness.start();
    billing = await insertCatalog(h.db, { scheme: 'stripe', subscription: 'billing' });
  });
  afterAll(() => h.stop());

  const post = (atS: number, id: string = randomUUID()) => {
    const body = JSON.stringify({ id, type: 'invoice.paid' });
    const mac = sign(Buffer.from(`${atS}.${body}`), SECRET);
    return h.post(billing.ingressRef, body, {
      headers: { 'stripe-signature': `t=${atS},v1=${mac}` },
    });
  };
  const nowS = () => Math.floor(Date.now() / 1000);

  it.each([
    ['too old', -400, /^It was signed 4\d{5} ms before receipt\.$/],
    ['too far ahead', 120, /^It was signed 1[12]\d{4} ms after receipt\.$/],
  ])('is answered 401 and recorded when it is %s', async (_what, offsetS, detail) => {
    const answer = await post(nowS() + offsetS, 'evt_1');
    expect(problem(answer)).toMatchObject({ status: 401, code: 'signature_stale' });
    expect(problem(answer).detail).toMatch(detail);
    expect((await h.stored()).at(-1)).toMatchObject({
      state: 'Rejected',
      reason: 'signature_stale',
    });
    expect(await h.dedupKeys()).toBe(0);
    expect(h.counted.at(-1)).toBe('stale');
  });

  it('counts for its sender like a bad signature: whoever has captured one cannot fill the database', async () => {
    const own = await insertCatalog(h.db, { scheme: 'stripe', subscription: 'replayed' });
    const before = (await h.stored()).length;
    const replay = (offsetS: number) => {
      const body = '{"id":"evt_9","type":"invoice.paid"}';
      const mac = sign(Buffer.from(`${nowS() + offsetS}.${body}`), SECRET);
      return h.post(own.ingressRef, body, {
        headers: { 'stripe-signature': `t=${nowS() + offsetS},v1=${mac}` },
      });
    };
    const good = await Promise.all(Array.from({ length: 70 }, () => replay(0)));
    expect(new Set(good.map(({ status }) => status))).toEqual(new Set([202]));
    const stale = await Promise.all(Array.from({ length: 70 }, () => replay(-400)));
    const statuses = stale.map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(60);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    expect((await h.stored()).length - before).toBe(70 + 60);
    expect((await replay(0)).status).toBe(202);
  });

  it('is accepted inside it, and its skew is kept as evidence', async () => {
    const answer = await post(nowS() - 200, 'evt_1');
    expect(answer.body['outcome']).toBe('accepted');
    const row = (await h.stored()).at(-1);
    expect(row).toMatchObject({ external_id: 'evt_1', event_type: 'invoice.paid' });
    expect(Number(row?.evidence['skewMs'])).toBeGreaterThan(190_000);
  });
});

describe("an ingress's secrets", () => {
  let h: Harness;
  let hook: CatalogFixture;
  beforeEach(async () => {
    h = await Harness.start();
    hook = await insertCatalog(h.db, {
      secrets: [
        { id: 'old', ref: 'env:OLD' },
        { id: 'new', ref: 'env:NEW' },
      ],
    });
  });
  afterEach(() => h.stop());

  /** What the log was told of secrets that did not serve. */
  const logged = () =>
    h.log
      .map((line): unknown => JSON.parse(line))
      .find((entry) => JSON.stringify(entry).includes('no secret to verify'));

  const windows = (old: string, fresh: string) =>
    h.db.rows(
      `update waybill.ingresses set secrets = jsonb_build_array(
        jsonb_build_object('id', 'old', 'ref', 'env:OLD', 'notBefore', null, 'notAfter', ${old}),
        jsonb_build_object('id', 'new', 'ref', 'env:NEW', 'notBefore', ${fresh}, 'notAfter', null))`,
    );

  it('all count, and the evidence names the one that matched', async () => {
    Object.assign(h.env, { OLD: 'old secret', NEW: 'new secret' });
    for (const secret of ['old secret', 'new secret']) {
      expect((await h.post(hook.ingressRef, '{}', { secret })).status).toBe(202);
    }
    const matched = (await h.stored()).map(({ evidence }) => evidence['secretId']);
    expect(matched).toEqual(['old', 'new']);
  });

  it("count only inside their windows, by the database's clock", async () => {
    Object.assign(h.env, { OLD: 'old secret', NEW: 'new secret' });
    await windows(`now() - interval '1 second'`, `now() - interval '1 second'`);
    expect((await h.post(hook.ingressRef, '{}', { secret: 'old secret' })).status).toBe(401);
    expect((await h.post(hook.ingressRef, '{}', { secret: 'new secret' })).status).toBe(202);
    await windows(`now() + interval '1 hour'`, `now() + interval '1 hour'`);
    expect((await h.post(hook.ingressRef, '{}', { secret: 'old secret' })).status).toBe(202);
    expect((await h.post(hook.ingressRef, '{}', { secret: 'new secret' })).status).toBe(401);
  });

  it('make the vendor come back when none can be read, and nothing is recorded', async () => {
    const answer = await h.post(hook.ingressRef, '{}', { secret: 'new secret' });
    expect(problem(answer)).toMatchObject({ status: 503, code: 'secret_unavailable' });
    expect(answer.headers.get('retry-after')).not.toBeNull();
    expect(await h.stored()).toEqual([]);
    expect(JSON.stringify(answer.body)).not.toContain('env:');
    expect(h.log.at(-1)).not.toContain('new secret');
    expect(logged()).toMatchObject({ secretIds: [], unreadable: ['env:OLD', 'env:NEW'] });
  });

  it('that are no keys of the scheme are named to the log by their ids', async () => {
    const keyed = await insertCatalog(h.db, {
      ...{ scheme: 'standard-webhooks', tenant: 'keyed' },
      secrets: [{ id: 'current', ref: 'env:NOT_A_KEY' }],
    });
    Object.assign(h.env, { NOT_A_KEY: 'not base64!' });
    const answer = await h.post(keyed.ingressRef, '{}', {
      headers: {
        ...{ 'webhook-id': 'msg_1', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) },
        'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}`,
      },
    });
    expect(problem(answer).code).toBe('secret_unavailable');
    expect(logged()).toMatchObject({ reason: 'unusable_secret', secretIds: ['current'] });
    expect(h.log.join('')).not.toContain('not base64!');
  });

  it('may match while another cannot be read; a mismatch is then not held against the sender', async () => {
    Object.assign(h.env, { NEW: 'new secret' });
    expect((await h.post(hook.ingressRef, '{}', { secret: 'new secret' })).status).toBe(202);
    const unknown = await h.post(hook.ingressRef, '{}', { secret: 'old secret' });
    expect(problem(unknown).code).toBe('secret_unavailable');
    expect(await h.stored()).toHaveLength(1);
  });

  it('are not read after their end', async () => {
    Object.assign(h.env, { NEW: 'new secret' });
    await windows(`now() - interval '1 second'`, 'null');
    expect((await h.post(hook.ingressRef, '{}', { secret: 'old secret' })).status).toBe(401);
  });

  it('make the vendor come back when none counts yet', async () => {
    Object.assign(h.env, { OLD: 'old secret', NEW: 'new secret' });
    await windows(`now() - interval '1 second'`, `now() + interval '1 hour'`);
    const answer = await h.post(hook.ingressRef, '{}', { secret: 'new secret' });
    expect(problem(answer).code).toBe('secret_unavailable');
  });
});

describe('a sender', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:DB8:1:2::', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
  ])('at %s is known as %s', (address, known) => {
    expect(network(address)).toBe(known);
  });
});

test('many addresses together are one flood, which another ingress does not feel', async () => {
  const limit = refusalLimit({ perAddress: 2, perIngress: 5 });
  const waits: (number | null)[] = [];
  for (let n = 0; n < 6; n += 1) waits.push(await limit.waitS('hook', `203.0.113.${n}`));
  expect(waits.slice(0, 5)).toEqual([null, null, null, null, null]);
  expect(waits[5]).toBeGreaterThan(0);
  expect(await limit.waitS('other', '203.0.113.0')).toBeNull();
});
