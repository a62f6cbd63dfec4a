/** What a version may send, as people write it: real YAML, no database. */
import { readFleet } from '../../../src/schemas/fleet';
import { connector } from '../../support/fleet-texts';

const vendor = (outbound: string) => connector('webhookScheme: null', `outbound: ${outbound}`);
const http = (operation: string) => vendor(`{ http: { operations: { send: { ${operation} } } } }`);
const PLAIN = "sideEffect: external, url: 'https://vendor.test/v1/{payload/id}'";

const mistakesOf = (text: string): string[] =>
  readFleet(text, new Map()).mistakes.map(({ field, problem }) => `${field}: ${problem}`);

test.each<[string, string, RegExp]>([
  [
    'an adapter that this version has not',
    '{ openapi: {} }',
    /outbound.openapi: there is no such field; known here: .*http/,
  ],
  ['no operation', '{ http: { operations: {} } }', /operations: name at least one operation/],
  [
    'two operations of one name',
    `{ http: { operations: { a: { ${PLAIN} } } }, action: { operations: { a: { capability: tickets.create } } } }`,
    /outbound: two operations have the name a/,
  ],
])('%s is refused', (_, outbound, said) => {
  expect(mistakesOf(vendor(outbound))).toEqual([expect.stringMatching(said)]);
});

test.each<[string, RegExp]>([
  ["url: 'https://vendor.test/'", /sideEffect: is missing/],
  [
    "sideEffect: read, url: 'https://{payload/host}/'",
    /url: where it goes must not depend on the payload/,
  ],
  [`${PLAIN}, headers: { Host: x }`, /headers.* header is not for an operation to set/],
  [`${PLAIN}, headers: { x: "a\\nb" }`, /headers.x: write printable ASCII/],
  [
    `${PLAIN}, headers: { authorization: x }, auth: { kind: bearer }`,
    /is set by auth or idempotency already/,
  ],
  [`${PLAIN}, auth: { kind: basic, user: '{payload/u}' }`, /may depend on \{config\/…\} only/],
  [
    `${PLAIN}, idempotency: { header: webhook-id }`,
    /webhook-id is sent with standardWebhooks only/,
  ],
  [`${PLAIN}, success: { status: [404] }`, /a success is a status of 2xx/],
  [`${PLAIN}, method: GET, body: { a: 1 }`, /body: a GET has no body/],
  [`${PLAIN}, body: { a: { config: no-pointer } }`, /write a JSON pointer/],
])('an operation %s is refused', (operation, said) => {
  expect(mistakesOf(http(operation)).join('\n')).toMatch(said);
});
