/** What a version may send, as the catalog takes it. Real Postgres. */
import { capability, connector, fleetOf, instance, tracker } from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';

const { db, apply, refusal } = publishing();

const vendor = (outbound: string) => connector('webhookScheme: null', `outbound: ${outbound}`);
const http = (operation: string) => vendor(`{ http: { operations: { send: { ${operation} } } } }`);
const PLAIN = "sideEffect: external, url: 'https://vendor.test/v1/{payload/id}'";

test('operations are kept by name, in the form that attempts use', async () => {
  await apply(
    http(
      `${PLAIN}, headers: { X-Order: '{payload/id}' }, auth: { kind: basic, user: ada }, ` +
        'success: { status: [201, 200], body: { pointer: /ok, equals: true } }, ' +
        'idempotency: { header: Idempotency-Key, window: 7d }, timeout: 3s',
    ),
  );
  const [row] = await db().rows<{ outbound: unknown }>(
    'select outbound from waybill.connector_versions',
  );
  expect(row?.outbound).toEqual({
    send: {
      ...{ kind: 'http', sideEffect: 'external', method: 'POST', body: null, timeoutMs: 3_000 },
      url: 'https://vendor.test/v1/{payload/id}',
      headers: { 'x-order': '{payload/id}' },
      auth: { kind: 'basic', user: 'ada' },
      success: { statuses: [200, 201], body: { pointer: '/ok', equals: true } },
      ...{ idempotencyHeader: 'idempotency-key', idempotencyWindowMs: 604_800_000 },
      standardWebhooks: false,
    },
  });
});

test('what a version sends never changes', async () => {
  await apply(http(PLAIN));
  const [problem] = await refusal(http(`${PLAIN}, timeout: 3s`));
  expect(problem).toMatch(/outbound.* never changes; give this one a new version/);
});

test('what is sent by an action is a capability of the very version', async () => {
  const outbound = 'outbound: { action: { operations: { file: { capability: tickets.create } } } }';
  await apply(fleetOf(capability(), tracker(outbound)));
  const [problem] = await refusal(connector('version: 2.0.0', outbound));
  expect(problem).toMatch(/operations.file.capability: this version does not offer tickets.create/);
});

test('an instance changes its signing secrets by a higher revision, and holds at most two', async () => {
  const signing = (refs: string, revision = 1) =>
    fleetOf(connector(), instance(`signingSecretRefs: ${refs}`, `configRevision: ${revision}`));
  await apply(signing('[env:A]'));
  const [problem] = await refusal(signing('[env:B, env:A]'));
  expect(problem).toMatch(/configRevision/);
  await apply(signing('[env:B, env:A]', 2));
  expect((await refusal(signing('[env:A, env:B, env:C]', 3))).join('')).toMatch(/at most two/);
});
