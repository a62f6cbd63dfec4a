/**
 * Requests that want an answer instead of a delivery. Real: socket, server, signatures, Postgres.
 * Asserted: what is answered to whom, that it is never a page, and that nothing is stored.
 */
import { createHmac } from 'node:crypto';
import { oddSchemes } from '../signing/webhooks/odd-schemes';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { vendors } from '../support/vendors/all';
import { sent } from '../support/vendors/vendor';
import { Harness, SECRET } from './harness';

let h: Harness;
beforeAll(async () => {
  h = await Harness.start();
});
afterAll(() => h.stop());

const hookFor = (scheme: string): Promise<CatalogFixture> => {
  h.env[`SECRET_${scheme}`] = vendorOf(scheme).secrets.own;
  return insertCatalog(h.db, {
    ...{ scheme, tenant: `tenant-${scheme}` },
    secrets: [{ id: 'current', ref: `env:SECRET_${scheme}` }],
  });
};

function vendorOf(scheme: string) {
  const found = vendors.find((vendor) => vendor.scheme === scheme);
  if (found === undefined) throw new Error(`no vendor ${scheme}`);
  return found;
}

/** Posts a body that the vendor signs now. */
async function ask(
  hook: CatalogFixture,
  scheme: string,
  { body, key = 'own', agoMs = 0 }: { body: string; key?: 'own' | 'other'; agoMs?: number },
) {
  const vendor = vendorOf(scheme);
  const timestamp = vendor.time?.text(Date.now() - agoMs) ?? '';
  const request = sent(vendor.sign({ key, body: Buffer.from(body), timestamp }));
  const response = await fetch(`${h.url}/webhooks/${hook.ingressRef}`, {
    method: 'POST',
    headers: request.headers.map(([name, value]): [string, string] => [name, value]),
    body,
  });
  return read(response);
}

async function read(response: Response) {
  const { status, headers } = response;
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  const type = headers.get('content-type');
  expect(type ?? '').not.toContain('html');
  return { status, type, text: await response.text() };
}

it('Slack gets its challenge back as text, once its signature is right', async () => {
  const hook = await hookFor('slack');
  const body = '{"type":"url_verification","challenge":"<script>3eZbrw"}';
  const good = await ask(hook, 'slack', { body });
  expect(good).toEqual({ status: 200, type: 'text/plain; charset=utf-8', text: '<script>3eZbrw' });
  expect((await ask(hook, 'slack', { body, key: 'other' })).status).toBe(401);
  expect(await ask(hook, 'slack', { body, agoMs: 400_000 })).toMatchObject({ status: 401 });
  const stored = await h.stored(hook.tenant);
  expect(stored.map(({ reason }) => reason)).toEqual(['signature_mismatch', 'signature_stale']);
  expect(h.counted).toContain('handshake');
  const lacking = await ask(hook, 'slack', { body: '{"type":"url_verification"}' });
  expect(lacking.status).toBe(403);
  expect(JSON.parse(lacking.text)).toMatchObject({ code: 'handshake_refused' });
});

it('Zoom gets the hash of its token, and the token cannot break out of the JSON', async () => {
  const hook = await hookFor('zoom');
  const plainToken = 'q","x":"\\u003c';
  const body = JSON.stringify({ event: 'endpoint.url_validation', payload: { plainToken } });
  const good = await ask(hook, 'zoom', { body });
  expect(good).toMatchObject({ status: 200, type: 'application/json; charset=utf-8' });
  const mac = createHmac('sha256', vendorOf('zoom').secrets.own).update(plainToken);
  expect(JSON.parse(good.text)).toEqual({ plainToken, encryptedToken: mac.digest('hex') });
  expect(await h.stored(hook.tenant)).toEqual([]);
});

it('Discord gets its pings answered, and 204 for events', async () => {
  const hook = await hookFor('discord');
  expect(await ask(hook, 'discord', { body: '{"type":0}' })).toMatchObject({
    status: 204,
    text: '',
  });
  const ping = await ask(hook, 'discord', { body: '{"type":1,"id":"1"}' });
  expect(ping).toMatchObject({ status: 200, text: '{"type":1}' });
  expect((await ask(hook, 'discord', { body: '{"type":1}', key: 'other' })).status).toBe(401);
  const event = await ask(hook, 'discord', { body: '{"type":1,"event":{"type":"E"}}' });
  expect(event).toMatchObject({ status: 204, text: '' });
  const stored = await h.stored(hook.tenant);
  expect(stored.filter(({ state }) => state === 'Received')).toMatchObject([{ event_type: 'E' }]);
});

it('Adyen reads [accepted]; a batch is one delivery with the event types of its items', async () => {
  const hook = await hookFor('adyen');
  const request = sent(vendorOf('adyen').sign());
  const url = `${h.url}/webhooks/${hook.ingressRef}`;
  const answer = await read(await fetch(url, { method: 'POST', body: Buffer.from(request.body) }));
  expect(answer).toEqual({ status: 200, type: 'text/plain; charset=utf-8', text: '[accepted]' });
  const [row] = await h.stored(hook.tenant);
  expect(row).toMatchObject({ event_type: 'AUTHORISATION', state: 'Received' });
  expect(row?.external_id).toMatch(/^items:[0-9a-f]{64}$/);
});

it('Trello and Intercom ask by HEAD; other schemes answer neither HEAD nor GET', async () => {
  for (const scheme of ['trello', 'intercom']) {
    const hook = await hookFor(scheme);
    const url = `${h.url}/webhooks/${hook.ingressRef}`;
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(url)).status).toBe(405);
  }
  const github = await insertCatalog(h.db);
  const head = await fetch(`${h.url}/webhooks/${github.ingressRef}`, { method: 'HEAD' });
  expect(head.status).toBe(405);
  expect(head.headers.get('allow')).toBe('POST');
});

it("Wise's test notification is answered and not stored", async () => {
  const hook = await hookFor('wise');
  const headers = { 'x-test-notification': 'true' };
  const url = `${h.url}/webhooks/${hook.ingressRef}`;
  expect((await fetch(url, { method: 'POST', headers, body: '{}' })).status).toBe(200);
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401);
  expect(await h.stored(hook.tenant)).toMatchObject([{ reason: 'missing_signature' }]);
});

describe('a challenge by GET', () => {
  let url: string;
  beforeAll(async () => {
    const hook = await insertCatalog(h.db, { scheme: 'square', tenant: 'challenged' });
    await h.db.rows(
      `update waybill.connector_versions set webhook_scheme = $1 where connector_id = 'square'`,
      [JSON.stringify(oddSchemes.at(-1))],
    );
    await h.db.rows(
      `update waybill.instances set config = '{"verify_token": "right"}' where tenant_id = 'challenged'`,
    );
    url = `${h.url}/webhooks/${hook.ingressRef}`;
  });
  const get = async (query: string) => read(await fetch(`${url}?${query}`));

  it('is echoed as bare text to whoever knows the verify token', async () => {
    const good = await get('hub.challenge=1158201444&hub.verify_token=right');
    expect(good).toEqual({ status: 200, type: 'text/plain; charset=utf-8', text: '1158201444' });
    const markup = await get(
      `hub.challenge=${encodeURIComponent('<script>')}&hub.verify_token=right`,
    );
    expect(markup).toMatchObject({ status: 200, type: 'text/plain; charset=utf-8' });
    expect(await h.stored('challenged')).toEqual([]);
  });

  it('is refused with a wrong token, without one, or with a value that is no challenge', async () => {
    for (const query of [
      'hub.challenge=1&hub.verify_token=wrong',
      'hub.challenge=1',
      'hub.challenge=1&hub.verify_token=right&hub.verify_token=wrong',
      `hub.challenge=${'x'.repeat(1001)}&hub.verify_token=right`,
      'hub.challenge=%00&hub.verify_token=right',
    ]) {
      expect((await get(query)).status).toBe(403);
    }
    expect((await get('other=1')).status).toBe(405);
  });

  it('that asks for our signature gets it', async () => {
    const answer = await get('crc_token=abc');
    const mac = createHmac('sha256', SECRET).update('abc').digest('base64');
    expect(JSON.parse(answer.text)).toEqual({ response_token: `sha256=${mac}` });
  });

  it('that asks for a signature over what could be a delivery gets none', async () => {
    const wanted = ['{"type":"payment","paid":true}', 'a=1&b=2', '[1]', 'a b', 'x'.repeat(1001)];
    for (const text of wanted) {
      const answer = await get(`crc_token=${encodeURIComponent(text)}`);
      expect({ text, status: answer.status }).toEqual({ text, status: 403 });
    }
    expect((await get('crc_token=aZ09-_.~%2B/:%3D')).status).toBe(200);
  });

  it('is limited for whoever keeps failing', async () => {
    const seen = new Set<number>();
    for (let n = 0; n < 62; n += 1) seen.add((await get('hub.challenge=1')).status);
    expect([...seen].sort()).toEqual([403, 429]);
  });
});
