/** What can be sent through a connector version, for fleets of all shapes. */
import * as fc from 'fast-check';
import { SIDE_EFFECTS } from '../../src/domain/capabilities';

const header = fc.constantFrom('x-request', 'X-Api-Key', 'accept', 'idempotency-key');
const filled = fc.constantFrom('', 'plain', '{payload/id}', 'a {config/region} b {payload/a~1b/0}');

const auth = fc.oneof(
  fc.constant({ kind: 'bearer' }),
  fc.record({ kind: fc.constant('basic'), user: fc.constantFrom('', 'ada', '{config/user}') }),
  fc.record({
    kind: fc.constant('header'),
    name: fc.constant('x-own'),
    prefix: fc.constantFrom('', 'Key '),
  }),
  fc.record({ kind: fc.constant('query'), name: fc.constantFrom('token', 'api_key') }),
);

const http = fc.record(
  {
    sideEffect: fc.constantFrom(...SIDE_EFFECTS),
    method: fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE'),
    url: fc.constantFrom(
      'https://vendor.test/v1/{payload/id}?at={config/region}',
      'http://{config/host}/x',
      '{config/base}/orders',
    ),
    headers: fc.dictionary(header, filled, { maxKeys: 2 }),
    body: fc.constantFrom<unknown[]>(
      { a: { from: '/a' }, b: { config: '/b' } },
      ['x', { from: '' }],
      'text',
      0,
    ),
    auth,
    success: fc.record(
      {
        status: fc.subarray([200, 201, 202, 204], { minLength: 1 }),
        body: fc.record({
          pointer: fc.constant('/ok'),
          equals: fc.constantFrom(true, 'yes', 1, null),
        }),
      },
      { requiredKeys: [] },
    ),
    idempotency: fc.constantFrom<object[]>(
      { header: 'x-idempotency' },
      { header: 'x-idempotency', window: '7d' },
    ),
    standardWebhooks: fc.boolean(),
    timeout: fc.constantFrom('100ms', '10s', '240s'),
  },
  { requiredKeys: ['sideEffect', 'url'] },
);

/** @param offered capabilities of the version; without one nothing is sent by an action */
export function arbitraryOutbound(offered: readonly string[]): fc.Arbitrary<unknown> {
  const operations = fc.dictionary(fc.constantFrom('send', 'charge', 'a.b'), http, { minKeys: 1 });
  const [capability] = offered;
  if (capability === undefined) return fc.record({ http: fc.record({ operations }) });
  const request = fc.constantFrom<unknown[]>({ title: { from: '/t' } }, { of: { config: '/c' } });
  const action = fc.record(
    { capability: fc.constant(capability), request },
    { requiredKeys: ['capability'] },
  );
  return fc.record(
    {
      http: fc.record({ operations }),
      action: fc.record({ operations: fc.record({ file: action }) }),
    },
    { requiredKeys: ['http'] },
  );
}

/** Of an instance. */
export const signingSecretRefs = fc.subarray(['env:SIGNING_KEY', 'file:old-signing-key']);
