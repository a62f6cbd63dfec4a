/**
 * SIGKILL of a real API process around the commit of an ingest and of a replay. Doubled: nothing.
 * Verdict: rows and the target's own records.
 */
import { randomUUID } from 'node:crypto';
import { deliveryId, tenantId } from '../../src/domain/ids';
import { importSigningKey } from '../../src/signing/keys';
import { issueDevelopmentToken } from '../../src/http/tokens/development';
import { readFileSync } from 'node:fs';
import path from 'node:path';
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
  const keyFile = path.join(faults.home, 'keys', 'development-tokens.jwk');
  const token = await issueDevelopmentToken(await importSigningKey(readFileSync(keyFile, 'utf8')), {
    tenantId: tenantId(fixture.tenant),
    subject: 'ada',
    scopes: ['factory.connections.operate'],
    issuedAt: new Date(),
    lifetimeS: 60,
  });
  return await fetch(`${url}/factory/deliveries/${deliveryId(id)}/replay`, {
    method: 'POST',
    body: JSON.stringify({ reason: 'target repaired' }),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  });
}
