/**
 * SIGKILL of a real API process around the commit of an ingest and of a replay, and before the answer to a
 * keyed request is kept. Doubled: nothing; the time that a dead claim's lease lasts is over by a statement.
 * Verdict: rows and the target's own records.
 */
import { randomUUID } from 'node:crypto';
import { deliveryId } from '../../src/domain/ids';
import { LANES, type Lane } from '../../src/domain/lanes';
import type { CatalogFixture } from '../support/catalog-fixture';
import { FaultRig, INGRESS_SECRET } from '../support/fault-rig';
import { until } from '../support/until';
import { postWebhook } from '../support/vendor';

let faults: FaultRig;
let fixture: CatalogFixture;
let fixtures: Readonly<Record<Lane, CatalogFixture>>;

beforeAll(async () => {
  faults = await FaultRig.start();
  fixture = await faults.rig.catalog();
  const express = await faults.rig.catalog({ lane: 'express', subscription: 'express' });
  fixtures = { durable: fixture, express };
});
afterAll(async () => {
  await faults.stop();
});

function post(url: string, id: string, { ingressRef } = fixture): Promise<Response> {
  return postWebhook({ url, ingressRef, secret: INGRESS_SECRET, id });
}

async function stored(externalId: string): Promise<{ delivery_id: string; state: string }[]> {
  return await faults.rig.db.rows(
    'select delivery_id, state from waybill.deliveries where external_id = $1 order by received_at',
    [externalId],
  );
}

test('an API killed before the commit has stored nothing, and the vendor sends again', async () => {
  const id = randomUUID();
  const { api, url } = await faults.api('ingest.verified');
  const lost = post(url, id).catch(() => 'lost');
  await api.heldAt('ingest.verified');
  await api.kill();
  expect(await lost).toBe('lost');
  expect(await stored(id)).toEqual([]);
  const keys = await faults.rig.db.rows('select 1 from waybill.dedup_keys where dedup_key = $1', [
    id,
  ]);
  expect(keys).toEqual([]);
  const next = await faults.api();
  const answer = await post(next.url, id);
  expect(answer.status).toBe(202);
  expect(await stored(id)).toMatchObject([{ state: 'Received' }]);
  await next.api.stop();
});

test('an API killed after the commit: a loop goes on with it in either lane, and the repeat names the first', async () => {
  const sent = LANES.map((lane) => ({ id: randomUUID(), to: fixtures[lane] }));
  const { api, url } = await faults.api('ingest.committed');
  const lost = sent.map(({ id, to }) => post(url, id, to).catch(() => 'lost'));
  for (const { id } of sent) {
    await until('it is committed', async () => ((await stored(id)).length === 1 ? true : null));
  }
  await api.heldAt('ingest.committed');
  await api.kill();
  expect(await Promise.all(lost)).toEqual(['lost', 'lost']);
  const firsts = await Promise.all(sent.map(async ({ id }) => (await stored(id))[0]?.delivery_id));
  const next = await faults.api();
  const repeats = async () =>
    await Promise.all(sent.map(async ({ id, to }) => await (await post(next.url, id, to)).json()));
  const named = firsts.map((firstDeliveryId) => ({ outcome: 'duplicate', firstDeliveryId }));
  expect(await repeats()).toMatchObject(named);
  const worker = await faults.worker();
  for (const { id } of sent) {
    await until('it is acknowledged', async () =>
      (await stored(id))[0]?.state === 'Acknowledged' ? true : null,
    );
  }
  expect(await repeats()).toMatchObject(named);
  for (const { id } of sent) {
    const [first, ...copies] = await stored(id);
    expect(copies.map(({ state }) => state)).toEqual(['Deduplicated', 'Deduplicated']);
    expect(faults.rig.receiver.of(first?.delivery_id ?? '')).toHaveLength(1);
  }
  await Promise.all([worker.stop(), next.api.stop()]);
});

test.each(['replay.begun', 'replay.decided'] as const)(
  'an API killed at %s leaves one replay or none',
  async (point) => {
    const { rig } = faults;
    rig.receiver.otherwise = { status: 404 };
    const worker = await faults.worker();
    const ref = await rig.deliver(fixture);
    await rig.reaches(ref, 'Failed');
    rig.receiver.otherwise = { status: 200 };
    const { api, url } = await faults.api(point);
    const lost = replay(url, ref.deliveryId).catch(() => 'lost');
    await api.heldAt(point);
    await api.kill();
    expect(await lost).toBe('lost');
    if (point === 'replay.begun') {
      expect(await rig.row(ref)).toMatchObject({ state: 'Failed', series: 1 });
      const next = await faults.api();
      expect((await replay(next.url, ref.deliveryId)).status).toBe(202);
      await next.api.stop();
    }
    // Decided on the row: the loop nudges the workflow, although nobody else did.
    expect(await rig.reaches(ref, 'Acknowledged', 30_000)).toMatchObject({ series: 2 });
    expect(rig.receiver.of(ref.deliveryId)).toHaveLength(2);
    await worker.stop();
  },
);

async function replay(url: string, id: string): Promise<Response> {
  const token = await faults.token(['factory.connections.operate'], fixture.tenant);
  return await fetch(`${url}/factory/deliveries/${deliveryId(id)}/replay`, {
    method: 'POST',
    body: JSON.stringify({ reason: 'target repaired' }),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  });
}

describe('a request with a key whose API was killed before its answer was kept', () => {
  const ADMIN = 'factory.connections.admin';
  const wish = (subscriptionId: string) => ({
    ...{ subscriptionId, instanceId: 'main', targetId: 'pushes-target', eventTypes: ['push'] },
    ingress: { secrets: [{ id: 'current', ref: 'file:acme/hook' }] },
  });
  const requests = {
    job: ['/v1/replays', { reason: 'repaired' }, 'factory.replays.operate'],
    made: ['/factory/subscriptions', wish('made'), ADMIN],
    rotated: ['/factory/subscriptions/rotated/ingress/rotate', {}, ADMIN],
    late: ['/factory/subscriptions', wish('late'), ADMIN],
  } as const;
  type Name = keyof typeof requests;
  const names = ['job', 'made', 'rotated'] as const;
  const leasesOver = () =>
    faults.rig.db.rows('update waybill.idempotency_keys set leased_until = clock_timestamp()');

  async function ask(url: string, name: Name): Promise<Response> {
    const [route, json, scope] = requests[name];
    const scopes = [scope, 'factory.connections.read'];
    return await fetch(`${url}${route}`, {
      method: 'POST',
      body: JSON.stringify(json),
      headers: {
        ...{ 'content-type': 'application/json', 'idempotency-key': `killed-${name}` },
        authorization: `Bearer ${await faults.token(scopes)}`,
      },
    });
  }

  interface KeyedAnswer {
    readonly jobId?: string;
    readonly ingress?: { readonly ref: string; readonly previous: readonly unknown[] };
  }

  async function addressOf(subscription: string): Promise<string | undefined> {
    const text = 'select ingress_ref as ref from waybill.ingresses where subscription_id = $1';
    return (await faults.rig.db.rows<{ ref: string }>(text, [subscription]))[0]?.ref;
  }

  /** The jobs, the addresses, and how much was told and written down. */
  const done = async () => ({
    jobs: await faults.rig.db.rows<{ id: string }>('select job_id as id from waybill.replay_jobs'),
    addresses: [await addressOf('made'), await addressOf('rotated')],
    told: (await faults.rig.db.rows('select from waybill.outbox_events')).length,
    audited: (await faults.rig.db.rows('select from waybill.audit_log')).length,
  });

  test('does it when it is repeated, where it was killed before the commit', async () => {
    const { api, url } = await faults.api('publication.written');
    const lost = ask(url, 'late').catch(() => 'lost');
    await api.heldAt('publication.written');
    await api.kill();
    expect(await lost).toBe('lost');
    expect(await addressOf('late')).toBeUndefined();
    await leasesOver();
    const next = await faults.api();
    const repeat = await ask(next.url, 'late');
    expect(repeat.status).toBe(201);
    const { ingress } = (await repeat.json()) as KeyedAnswer;
    expect(ingress?.ref).toBe(await addressOf('late'));
    await next.api.stop();
  });

  test('is refused while its claim lives, and then finds what it did: once', async () => {
    const { rig } = faults;
    await rig.catalog({ subscription: 'rotated' });
    const { api, url } = await faults.api('request.done');
    const lost: Promise<unknown>[] = [];
    for (const name of names) {
      lost.push(ask(url, name).catch(() => 'lost'));
      await api.heldAt('request.done', lost.length);
    }
    await api.kill();
    expect(await Promise.all(lost)).toEqual(names.map(() => 'lost'));
    const before = await done();
    const next = await faults.api();
    for (const name of names) {
      const early = await ask(next.url, name);
      expect(await early.json()).toMatchObject({ status: 409, code: 'idempotency_in_flight' });
      expect(Number(early.headers.get('retry-after'))).toBeLessThanOrEqual(10);
    }
    await leasesOver();
    const answers: Partial<Record<Name, KeyedAnswer>> = {};
    for (const name of names) {
      const repeat = await ask(next.url, name);
      expect(repeat.ok).toBe(true);
      expect(repeat.headers.get('idempotent-replayed')).toBeNull();
      answers[name] = (await repeat.json()) as KeyedAnswer;
      const again = await ask(next.url, name);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(await again.json()).toEqual(answers[name]);
    }
    expect(await done()).toEqual(before);
    expect(before.jobs).toEqual([{ id: answers.job?.jobId }]);
    const addresses = [answers.made, answers.rotated].map((answer) => answer?.ingress?.ref);
    expect(addresses).toEqual(before.addresses);
    expect(answers.rotated?.ingress?.previous).toHaveLength(1);
    await next.api.stop();
  });
});
