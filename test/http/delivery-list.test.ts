/**
 * Listing deliveries: filters, pages and cursors. Real: socket, server, Postgres, row security.
 * Rows are made by the product's own ingress; their times are then set apart by an administrator.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { tenantId } from '../../src/domain/ids';
import { writeCursor, type CursorScope } from '../../src/http/cursors';
import type { DeliveryPage } from '../../src/schemas/api-deliveries';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { ACTIONS_READ, Harness, OPERATE, problem, READ } from './harness';

describe('the list of deliveries', () => {
  let h: Harness;
  let pushes: CatalogFixture;
  let audit: CatalogFixture;
  beforeEach(async () => {
    h = await Harness.start();
    pushes = await insertCatalog(h.db);
    audit = await insertCatalog(h.db, { subscription: 'audit' });
  });
  afterEach(() => h.stop());

  const list = async (query: string, tenant = 'acme') => {
    const answer = await h.call<DeliveryPage>(`/factory/deliveries?${query}`, { tenant });
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const ids = (page: DeliveryPage) => page.deliveries.map(({ externalId }) => externalId);

  /** Deliveries 1…count, a microsecond apart, all within the same millisecond where there is room. */
  async function fill(count: number): Promise<void> {
    for (let n = 1; n <= count; n += 1) {
      await h.post(pushes.ingressRef, `{"n":${n}}`, { id: String(n) });
    }
    await h.db.rows(
      `update waybill.deliveries set received_at =
        timestamptz '2026-01-01 12:00:00Z' + external_id::integer * interval '1 microsecond'`,
    );
  }

  it('shows the newest first, with all that a row says', async () => {
    await fill(3);
    const page = await list('');
    expect(ids(page)).toEqual(['3', '2', '1']);
    expect(page.view).toBe('live');
    expect(page.nextCursor).toBeNull();
    const [newest] = page.deliveries;
    expect(newest).toMatchObject({
      direction: 'inbound',
      connectorId: 'github',
      instanceId: 'main',
      subscriptionId: 'pushes',
      eventType: 'push',
      state: 'Received',
      payloadBytes: 7,
      receivedAt: '2026-01-01T12:00:00.000003Z',
      settledAt: null,
      receiptRef: null,
      workflowId: `delivery/acme/${newest?.deliveryId ?? ''}`,
      workflowUrl: `http://127.0.0.1:8233/namespaces/default/workflows/delivery%2Facme%2F${newest?.deliveryId ?? ''}`,
    });
  });

  it('names no workflow for what is never dispatched', async () => {
    await h.post(pushes.ingressRef, '{}', { secret: 'wrong' });
    const page = await list('state=Rejected');
    expect(page.deliveries).toMatchObject([{ workflowId: null, workflowUrl: null }]);
  });

  it('keeps to every filter', async () => {
    await fill(4);
    await h.post(audit.ingressRef, '{}', { id: 'audited' });
    await h.post(audit.ingressRef, '{}', { id: 'audited' });
    await h.post(audit.ingressRef, '{}', { id: 'refused', secret: 'wrong' });
    const [three] = (await h.stored()).filter(({ external_id }) => external_id === '3');
    await h.fail('acme', three?.delivery_id ?? '');
    const expected: [string, (string | null)[]][] = [
      ['subscription=audit&state=Received', ['audited']],
      ['state=Deduplicated', ['audited']],
      ['state=Rejected', ['refused']],
      ['state=Failed', ['3']],
      ['state=Failed&subscription=audit', []],
      ['externalId=2', ['2']],
      ['externalId=2&state=Failed', []],
      ['externalId=3&state=Failed', ['3']],
      ['reason=signature_mismatch', ['refused']],
      ['reason=status_refused', []],
      ['eventType=push&state=Failed', ['3']],
      ['eventType=issues', []],
      ['connector=gitlab', []],
      ['direction=outbound', []],
      ['direction=inbound&connector=github&externalId=1', ['1']],
      [
        'receivedFrom=2026-01-01T12:00:00.000002Z&receivedTo=2026-01-01T12:00:00.000004Z',
        ['3', '2'],
      ],
      ['receivedTo=2026-01-01T12:00:00.000002Z', ['1']],
      ['receivedFrom=2999-01-01T00:00:00Z', []],
    ];
    for (const [query, found] of expected) {
      expect({ query, found: ids(await list(query)) }).toEqual({ query, found });
    }
  });

  it('gives every row once, a microsecond apart, whatever the page size', async () => {
    await fill(12);
    for (const limit of [1, 5, 11, 12]) {
      const seen: (string | null)[] = [];
      let cursor: string | null = '';
      let pages = 0;
      while (cursor !== null) {
        const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const page: DeliveryPage = await list(`limit=${limit}${after}`);
        seen.push(...ids(page));
        cursor = page.nextCursor;
        pages += 1;
      }
      expect(seen).toEqual(['12', '11', '10', '9', '8', '7', '6', '5', '4', '3', '2', '1']);
      expect(pages).toBe(Math.ceil(12 / limit));
    }
  });

  it('neither skips nor doubles what stayed unchanged while rows go, change and come', async () => {
    await fill(25);
    const first = await list('limit=10&state=Received');
    expect(ids(first)).toEqual(['25', '24', '23', '22', '21', '20', '19', '18', '17', '16']);
    // Some of the first page go, also the row that the cursor points at.
    await h.db.rows(
      `delete from waybill.deliveries where external_id = any('{25,24,23,22,16}'::text[])`,
    );
    await h.db.rows(
      `update waybill.deliveries set state = 'Verified' where external_id = any('{14,12,10}')`,
    );
    for (let n = 26; n <= 29; n += 1) await h.post(pushes.ingressRef, '{}', { id: String(n) });
    const second = await list(`limit=10&state=Received&cursor=${first.nextCursor ?? ''}`);
    expect(ids(second)).toEqual(['15', '13', '11', '9', '8', '7', '6', '5', '4', '3']);
    const third = await list(`limit=10&state=Received&cursor=${second.nextCursor ?? ''}`);
    expect(ids(third)).toEqual(['2', '1']);
    expect(third.nextCursor).toBeNull();
  });

  it('refuses a cursor that is broken, edited, or of another list', async () => {
    await fill(3);
    await insertCatalog(h.db, { tenant: 'rival' });
    const { nextCursor } = await list('limit=1&state=Received');
    const cursor = nextCursor ?? '';
    const [position = '', mac = ''] = cursor.split('.');
    const moved = Buffer.from(JSON.stringify(['2026-01-01T12:00:00.000001Z', uuidv7()])).toString(
      'base64url',
    );
    const attempts: [string, string?][] = [
      [`cursor=${cursor}`],
      [`state=Failed&cursor=${cursor}`],
      [`state=Received&subscription=pushes&cursor=${cursor}`],
      [`state=Received&cursor=${cursor}`, 'rival'],
      [`state=Received&cursor=${cursor.slice(0, -1)}`],
      [`state=Received&cursor=${cursor}=`],
      [`state=Received&cursor=${cursor}.`],
      [`state=Received&cursor=${position}`],
      [`state=Received&cursor=.${mac}`],
      [`state=Received&cursor=${moved}.${mac}`],
      ['state=Received&cursor='],
      ['state=Received&cursor=%00'],
      ['state=Received&cursor=!!!.???'],
    ];
    for (const [query, tenant = 'acme'] of attempts) {
      const answer = await h.call(`/factory/deliveries?${query}`, { tenant });
      expect({ query, code: problem(answer).code }).toEqual({ query, code: 'invalid_cursor' });
      expect(answer.status).toBe(400);
    }
    // The page size is no part of the list.
    expect(ids(await list(`limit=2&state=Received&cursor=${cursor}`))).toEqual(['2', '1']);
  });

  it('is empty for a tenant that has nothing', async () => {
    await fill(2);
    expect(ids(await list('', 'rival'))).toEqual([]);
    expect(ids(await list('externalId=1', 'rival'))).toEqual([]);
  });
});

describe('a request for a list', () => {
  const cursorKey = randomBytes(32);
  let h: Harness;
  beforeAll(async () => {
    h = await Harness.start({ cursorKey });
  });
  afterAll(() => h.stop());

  /** As a release with that layout of cursors gives them out. */
  function cursorOf(layout: number, list: CursorScope['list'], position: string): string {
    const said = JSON.stringify([list, layout, 'acme', [], position]);
    const mac = createHmac('sha256', cursorKey).update(said).digest('base64url');
    return `${Buffer.from(position).toString('base64url')}.${mac}`;
  }

  it.each([
    ['deliveries', '/factory/deliveries?cursor='],
    ['actions', '/v1/actions?cursor='],
    ['routes', '/v1/routes?cursor='],
    ['capabilities', '/v1/capabilities?cursor='],
    ['subscriptions', '/factory/subscriptions?cursor='],
    ['targets', '/factory/targets?cursor='],
    ['events', '/v1/events?after='],
  ] as const)('refuses a cursor of %s that an older release has given out', async (list, path) => {
    const at = ['2026-01-01T12:00:00.000001Z', uuidv7()] as const;
    const position = JSON.stringify(at);
    const scope = { list, tenantId: tenantId('acme'), filters: {} };
    expect(cursorOf(1, list, position)).toBe(writeCursor(cursorKey, scope, at));
    const scopes = [READ, ACTIONS_READ, 'factory.catalog.read', 'factory.events.read'];
    const older = await h.call(`${path}${cursorOf(0, list, position)}`, { scopes });
    const field = list === 'events' ? 'after' : 'cursor';
    expect(problem(older)).toMatchObject({ status: 400, code: 'invalid_cursor', field });
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=1e1', 'limit'],
    ['limit=', 'limit'],
    ['state=failed', 'state'],
    ['state=Failed&state=Rejected', 'state'],
    ['direction=sideways', 'direction'],
    ['receivedFrom=yesterday', 'receivedFrom'],
    ['receivedFrom=2026-02-30T00:00:00Z', 'receivedFrom'],
    ['receivedTo=0000-01-01T00:00:00Z', 'receivedTo'],
    ['receivedTo=2026-01-01T00:00:00%2B23:00', 'receivedTo'],
    [`receivedTo=2026-01-01T00:00:00.${'1'.repeat(200)}Z`, 'receivedTo'],
    ['externalId=', 'externalId'],
    ['externalId=a%00b', 'externalId'],
    [`externalId=${'x'.repeat(257)}`, 'externalId'],
    ['connector=Not%20A%20Name', 'connector'],
    ['tenant=rival', 'tenant'],
    ['tenantId=rival', 'tenantId'],
    ['offset=3', 'offset'],
  ])('refuses %s and names the field', async (query, field) => {
    const answer = await h.call(`/factory/deliveries?${query}`);
    expect(problem(answer)).toMatchObject({ status: 400, code: 'invalid_request', field });
  });

  it('is for the scope of reading alone', async () => {
    const answer = await h.call('/factory/deliveries', { scopes: [OPERATE] });
    expect(problem(answer)).toMatchObject({ status: 403, code: 'scope_missing' });
    expect(answer.body['detail']).toContain(READ);
    expect(answer.headers.get('www-authenticate')).toContain(`scope="${READ}"`);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });
});
