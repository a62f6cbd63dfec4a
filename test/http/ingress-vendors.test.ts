/**
 * Every shipped scheme through the real ingress. Real: socket, server, signatures, secrets, Postgres.
 * Doubled: the start of workflows. Asserted: duplicates, conflicts, the size limit, and what a
 * handshake is where nobody listens.
 */
import type { WebhookRequest } from '../../src/signing/webhooks/request';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { vendors } from '../support/vendors/all';
import { sent, type SignInput, type Vendor } from '../support/vendors/vendor';
import { Harness } from './harness';

const LIMIT_BYTES = 20_000;
let h: Harness;
const hooks = new Map<string, CatalogFixture>();

beforeAll(async () => {
  h = await Harness.start();
  for (const [index, { scheme, name, secrets }] of vendors.entries()) {
    const env = `VENDOR_${index}`;
    h.env[env] = secrets.own;
    const hook = await insertCatalog(h.db, {
      ...{ scheme, tenant: `vendor-${index}`, bodyLimitBytes: LIMIT_BYTES },
      secrets: [{ id: 'current', ref: `env:${env}` }],
    });
    hooks.set(name, hook);
  }
});
afterAll(() => h.stop());

function hookOf({ name }: Vendor): CatalogFixture {
  const hook = hooks.get(name);
  if (hook === undefined) throw new Error(`no ingress of ${name}`);
  return hook;
}

/** Signed now, for the public URL of the vendor's ingress. */
function signedNow(vendor: Vendor, input: SignInput = {}): WebhookRequest {
  const url = `https://hooks.example.test/webhooks/${hookOf(vendor).ingressRef}`;
  const now = vendor.time?.text(Date.now());
  return sent(vendor.sign({ url, ...(now !== undefined && { timestamp: now }), ...input }));
}

async function post(request: WebhookRequest, change: { readonly body?: Uint8Array } = {}) {
  const { pathname, search } = new URL(request.url);
  const response = await fetch(`${h.url}${pathname}${search}`, {
    method: 'POST',
    headers: request.headers.map(([name, value]): [string, string] => [name, value]),
    body: Buffer.from(change.body ?? request.body),
  });
  return { status: response.status, text: await response.text() };
}

const rowsOf = (vendor: Vendor) => h.stored(hookOf(vendor).tenant);
const statesOf = async (vendor: Vendor) => (await rowsOf(vendor)).map(({ state }) => state);

/** Schemes that say what identifies a delivery; of the others the bytes do. */
const named = ({ scheme }: Vendor): boolean =>
  scheme !== 'adyen-banking' && !scheme.startsWith('generic-hmac');

/** Another signed body of the same delivery id. */
function otherBody(vendor: Vendor, id: string): WebhookRequest {
  const request = signedNow(vendor, { id });
  const more = vendor.name === 'twilio (form)' ? '&Extra=1' : ' ';
  const body = Buffer.concat([Buffer.from(request.body), Buffer.from(more)]);
  return vendor.signsOnly === 'fields' ? { ...request, body } : signedNow(vendor, { id, body });
}

describe('same request twice (duplicate) and same id with a different body (conflict)', () => {
  for (const vendor of vendors) {
    const because = named(vendor) ? '' : ': its bytes are its id, so other bytes are another one';
    it(`${vendor.name}${because}`, async () => {
      const request = signedNow(vendor, { id: 'same' });
      const first = await post(request);
      const again = await post(request);
      const other = await post(otherBody(vendor, 'same'));
      for (const { status } of [first, again, other]) expect([200, 202, 204]).toContain(status);
      const rows = await rowsOf(vendor);
      expect(rows).toMatchObject([
        { state: 'Received', evidence: { secretId: 'current' } },
        { state: 'Deduplicated', conflict: false, duplicate_of: rows[0]?.delivery_id },
        named(vendor)
          ? { state: 'Deduplicated', conflict: true, duplicate_of: rows[0]?.delivery_id }
          : { state: 'Received' },
      ]);
    });
  }
});

describe('invalid signature with an id already seen (must not be reported as duplicate)', () => {
  for (const vendor of vendors) {
    it(vendor.name, async () => {
      await post(signedNow(vendor, { id: 'seen' }));
      const before = await statesOf(vendor);
      const forged = await post(signedNow(vendor, { id: 'seen', key: 'other' }));
      expect(forged.status).toBe(401);
      expect(forged.text).not.toContain('duplicate');
      expect(await statesOf(vendor)).toEqual([...before, 'Rejected']);
    });
  }
});

describe('body one byte above the size limit (reject before reading it all)', () => {
  for (const vendor of vendors) {
    it(vendor.name, async () => {
      const before = await statesOf(vendor);
      const body = Buffer.alloc(LIMIT_BYTES + 1, 0x20);
      const refused = await post(signedNow(vendor), { body });
      expect(refused.status).toBe(413);
      expect(await statesOf(vendor)).toEqual(before);
    });
  }
});

describe('handshake request without a configured source', () => {
  for (const vendor of vendors) {
    it(vendor.name, async () => {
      for (const method of ['GET', 'HEAD', 'POST']) {
        const url = `${h.url}/webhooks/nobody-listens?hub.challenge=1&crc_token=2`;
        const body = '{"type":"url_verification","challenge":"c"}';
        const answer = await fetch(url, { method, ...(method === 'POST' && { body }) });
        expect(answer.status).toBe(404);
        const text = await answer.text();
        if (method !== 'HEAD') expect(text).toContain('unknown_ingress');
      }
      const probe = await fetch(`${h.url}/webhooks/${hookOf(vendor).ingressRef}`);
      expect(probe.status).toBe(405);
    });
  }
});
