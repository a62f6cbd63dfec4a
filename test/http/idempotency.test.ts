/**
 * Requests that carry an Idempotency-Key. Real: server, socket, Postgres and its clock. A request is held
 * up for real: somebody has the table that it writes to.
 */
import { Pool } from 'pg';
import { claimIdempotencyKey, keepIdempotentAnswer } from '../../src/db/idempotency-keys';
import { forgetExpired } from '../../src/db/delivery-retention';
import { tenantId } from '../../src/domain/ids';
import { until } from '../support/until';
import { Harness, problem, type Answer } from './harness';

const SCOPES = ['factory.replays.operate'];
const BODY = { reason: 'repaired', filter: { subscription: 'a', connector: 'github' } };

let h: Harness;
beforeAll(async () => {
  h = await Harness.start();
});
afterAll(() => h.stop());
afterEach(async () => {
  await h.db.rows('delete from waybill.idempotency_keys');
  await h.db.rows('delete from waybill.replay_jobs');
});

async function plan(
  key: string | null,
  { json = BODY, subject = 'ada', tenant = 'acme' }: Partial<Asked> = {},
): Promise<Answer> {
  const response = await fetch(`${h.url}/v1/replays`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${await h.token({ scopes: SCOPES, subject, tenant })}`,
      ...(key === null ? {} : { 'idempotency-key': key }),
    },
    body: typeof json === 'string' ? json : JSON.stringify(json),
  });
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, body };
}

interface Asked {
  readonly json: unknown;
  readonly subject: string;
  readonly tenant: string;
}

const jobs = async () => (await h.db.rows('select from waybill.replay_jobs')).length;

describe('a request that is repeated with its key', () => {
  test('is answered the same and done once, whatever the order of its fields', async () => {
    const first = await plan('"k-1"');
    expect(first.status).toBe(202);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    const reordered = '{"filter":{"connector":"github","subscription":"a"},  "reason":"repaired"}';
    for (const again of [await plan('"k-1"'), await plan('k-1', { json: reordered })]) {
      expect(again).toMatchObject({ status: 202, body: first.body });
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
      expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    }
    expect(await jobs()).toBe(1);
  });

  test('and another body is refused, and changes nothing', async () => {
    await plan('k-1');
    const other = await plan('k-1', { json: { ...BODY, reason: 'another' } });
    expect(problem(other)).toMatchObject({
      ...{ status: 422, code: 'idempotency_key_reused', field: 'idempotency-key' },
    });
    expect(await jobs()).toBe(1);
  });

  test('by somebody else, or of another tenant, is another request', async () => {
    const answers = [
      await plan('k-1'),
      await plan('k-1', { subject: 'eve' }),
      await plan('k-1', { tenant: 'globex' }),
      await plan('k-1', { tenant: 'globex', subject: 'eve', json: { reason: 'other' } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    expect(new Set(answers.map(({ body }) => body['jobId'])).size).toBe(4);
  });

  test('on another route is another request', async () => {
    const { body } = await plan('k-1');
    await h.db.rows(`update waybill.idempotency_keys set route = 'POST /v1/elsewhere'`);
    expect((await plan('k-1', { json: { reason: 'other' } })).body['jobId']).not.toBe(
      body['jobId'],
    );
  });

  test('is refused while the first one is under way, and meets its answer after it', async () => {
    const other = new Pool({ connectionString: h.db.url, max: 1 });
    const client = await other.connect();
    await client.query('begin; lock table waybill.replay_jobs in access exclusive mode');
    const first = plan('k-1');
    const claimed = () => h.db.rows('select from waybill.idempotency_keys');
    await until('the first is claimed', async () => (await claimed())[0]);
    const second = await plan('k-1');
    expect(problem(second)).toMatchObject({ status: 409, code: 'idempotency_in_flight' });
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(second.headers.get('retry-after'))).toBeLessThanOrEqual(10);
    const changed = await plan('k-1', { json: { reason: 'another' } });
    expect(problem(changed)).toMatchObject({ status: 422 });
    await client.query('commit');
    client.release();
    await other.end();
    const { body } = await first;
    expect((await plan('k-1')).body).toEqual(body);
  });

  test('that the caller got wrong keeps its answer; one that was never valid takes no key', async () => {
    expect((await plan('k-1', { json: { reason: '' } })).status).toBe(400);
    expect((await plan('k-1')).status).toBe(202);
    await h.db.rows(
      `insert into waybill.replay_jobs select (jsonb_populate_record(j, jsonb_build_object(
        'job_id', gen_random_uuid()))).* from waybill.replay_jobs j, generate_series(1, 19)`,
    );
    const refused = await plan('k-2');
    expect(problem(refused)).toMatchObject({ status: 409, code: 'too_many_replays' });
    await h.db.rows('delete from waybill.replay_jobs');
    expect((await plan('k-2')).body).toEqual(refused.body);
  });

  test('after a fault of ours is made anew', async () => {
    await h.db.rows('alter table waybill.replay_jobs rename to hidden');
    const failed = await plan('k-1');
    await h.db.rows('alter table waybill.hidden rename to replay_jobs');
    expect(failed.status).toBe(500);
    expect((await plan('k-1')).status).toBe(202);
  });
});

/** As a process leaves them that dies between what a request does and the answer that is kept of it. */
const diedBeforeAnswers = () =>
  h.db.rows(
    `update waybill.idempotency_keys
      set answer_status = null, answer = null, leased_until = clock_timestamp()`,
  );

describe('a request whose process died after it did what was asked for', () => {
  test('finds the job that it made, also where no further one would be allowed', async () => {
    const first = await plan('k-1');
    await h.db.rows(
      `insert into waybill.replay_jobs select (jsonb_populate_record(j, jsonb_build_object(
        'job_id', gen_random_uuid()))).* from waybill.replay_jobs j, generate_series(1, 19)`,
    );
    for (let again = 0; again < 2; again += 1) {
      await diedBeforeAnswers();
      const repeated = await plan('k-1');
      expect(repeated).toMatchObject({ status: 202, body: { jobId: first.body['jobId'] } });
      expect(repeated.headers.get('idempotent-replayed')).toBeNull();
    }
    expect(await jobs()).toBe(20);
    const audited = await h.db.rows(
      `select from waybill.audit_log where subject = 'replay/' || $1`,
      [first.body['jobId']],
    );
    expect(audited).toHaveLength(1);
  });

  test('after the life of its key makes another one', async () => {
    const first = await plan('k-1');
    await diedBeforeAnswers();
    await h.db.rows(`update waybill.idempotency_keys set expires_at = clock_timestamp()`);
    expect((await plan('k-1')).body['jobId']).not.toBe(first.body['jobId']);
    expect(await jobs()).toBe(2);
  });
});

test.each(['', '""', '"a', 'a b', 'a,b', '"a";x=1', 'x'.repeat(256), `"${'x'.repeat(256)}"`])(
  'the key %j is none',
  async (key) => {
    expect(problem(await plan(key))).toMatchObject({ status: 400, field: 'idempotency-key' });
  },
);

test('a route that takes keys works without one', async () => {
  expect((await plan(null)).status).toBe(202);
  expect((await plan(null)).status).toBe(202);
  expect(await jobs()).toBe(2);
});

describe('a key', () => {
  const key = { tenantId: tenantId('acme'), principal: 'ada', route: 'POST /x', key: 'k' };
  const effectId = '0198c1f0-9a3e-7c41-b1c2-5d7a3f0e8b21';
  const request = { sha256: Buffer.alloc(32), leaseMs: 60_000, keepMs: 60_000, effectId };
  const claim = (changes: object = {}) =>
    claimIdempotencyKey(h.db.as('waybill_data'), key, { ...request, ...changes });
  const answer = { status: 200, type: 'application/json', body: '{}' };
  const keep = (number: number) =>
    keepIdempotentAnswer(h.db.as('waybill_data'), key, number, answer);

  test('is free as soon as the lease of one that died is over, and its late answer is not kept', async () => {
    expect(await claim({ leaseMs: 100 })).toEqual({ kind: 'claimed', claim: 1, effectId });
    expect(await claim()).toMatchObject({ kind: 'in_flight' });
    await until('the lease is over', async () =>
      (await claim()).kind === 'claimed' ? true : null,
    );
    expect(await keep(1)).toBe(false);
    expect(await claim()).toMatchObject({ kind: 'in_flight' });
    expect(await keep(2)).toBe(true);
    expect(await claim()).toEqual({
      kind: 'answered',
      status: 200,
      answer: { type: 'application/json', body: '{}' },
    });
  });

  test('counts as new after its life, for any request, and is then removed', async () => {
    await claim({ keepMs: 50 });
    await keep(1);
    const other = { sha256: Buffer.alloc(32, 1), keepMs: 50 };
    await until('its life is over', async () =>
      (await claim(other)).kind === 'claimed' ? true : null,
    );
    await until('it is removed', async () => {
      await forgetExpired(h.db.as('waybill_operations'), 10);
      const left = await h.db.rows('select from waybill.idempotency_keys');
      return left.length === 0 ? true : null;
    });
  });
});
