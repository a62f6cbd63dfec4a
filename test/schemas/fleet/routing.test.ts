/**
 * The documents that routing needs: real YAML texts, no database. Asserted are the normal form and
 * document, line, field and remedy of each mistake.
 */
import { readFleet } from '../../../src/schemas/fleet';
import type { Fleet } from '../../../src/schemas/fleet';
import { ActionTarget } from '../../../src/schemas/targets';
import {
  account,
  binding,
  capability,
  fleetOf,
  quotaPolicy,
  replica,
  target,
  tracker,
} from '../../support/fleet-texts';

const read = (text: string): Fleet => readFleet(text, new Map());

/** `line document field: problem` of every mistake. */
function mistakesOf(text: string): string[] {
  return read(text).mistakes.map(
    ({ line, document, field, problem }) =>
      `${line} ${document.replace(/ \(.*\)/, '')} ${field}: ${problem}`,
  );
}

/** A Target document of kind action; its `http` line is empty. */
const action = (group: string): string => target('http: null', `action: ${group}`);

describe('what is left out', () => {
  test('has its documented value', () => {
    const fleet = read(
      fleetOf(capability(), tracker(), quotaPolicy(), account(), binding(), replica()),
    );
    expect(fleet.mistakes).toEqual([]);
    expect(fleet.capabilities[0]?.thing.timeout).toBe(30_000);
    expect(fleet.connectors[0]?.thing).toMatchObject({
      capabilities: ['tickets.create'],
      rateLimit: null,
    });
    expect(fleet.quotaPolicies[0]?.thing.limits).toEqual({
      ...{ binding: 2, instance: null, connector: null },
      ...{ tenantRetry: null, tenant: null, global: null },
    });
    expect(fleet.instances[0]?.thing.credentials).toEqual([{ revision: 'r1', status: null }]);
    expect(fleet.bindings[0]?.thing).toMatchObject({
      ...{ priority: 100, enabled: true, spill: 'never', spread: false },
      ...{ policyRevision: 1, quotaPolicy: null },
    });
    expect(fleet.replicas[0]?.thing).toMatchObject({
      ...{ version: null, capacityClass: 'standard' },
      peer: { principalId: null, principalKind: 'service' },
    });
  });

  test('of an action target is the payload itself as request and no affinity', () => {
    const { targets, mistakes } = read(action('{ capability: tickets.create }'));
    expect(mistakes).toEqual([]);
    const row = {
      ...{ capabilityId: 'tickets.create', request: null, affinity: null, timeoutMs: 10_000 },
    };
    expect(targets[0]?.thing).toMatchObject({ http: null, action: row });
    expect(ActionTarget.parse(targets[0]?.thing.action)).toEqual(row);
  });

  test('a rate limit and the settings of routing are kept in milliseconds', () => {
    const { connectors, settings, mistakes } = read(
      fleetOf(
        tracker('rateLimit: { permits: 100, per: 1m, burst: 10 }'),
        'kind: Settings\ncircuitOpen: 2m\nreplicaLease: 10s\ncircuitUnknowns: 0\n',
      ),
    );
    expect(mistakes).toEqual([]);
    expect(connectors[0]?.thing.rateLimit).toEqual({ permits: 100, perMs: 60_000, burst: 10 });
    expect(settings[0]?.thing).toMatchObject({ circuitOpen: 120_000, replicaLease: 10_000 });
  });
});

describe('a mistake names line, document, field and remedy', () => {
  const FROM = /action\.request\S*\.from: write a JSON pointer such as \/issue\/title$/;
  test.each([
    [
      'a schema that is no group of fields',
      capability('requestSchema: true'),
      /^6 Capability tickets\.create requestSchema: must be a group of fields$/,
    ],
    [
      'a schema with a type that JSON Schema does not know',
      capability('requestSchema: { type: object, properties: { title: { type: text } } }'),
      /^6 .* requestSchema\.properties\.title\.type: is no JSON Schema: /,
    ],
    [
      'a reference that leads nowhere',
      capability("resultSchema: { $ref: '#/$defs/issue' }"),
      /^7 .* resultSchema: is no JSON Schema: can't resolve reference/,
    ],
    [
      'a pattern that is no regular expression',
      capability("resultSchema: { type: string, pattern: '(' }"),
      /^7 .* resultSchema: is no JSON Schema: Invalid regular expression/,
    ],
    [
      'another draft',
      capability("resultSchema: { $schema: 'http://json-schema.org/draft-07/schema#' }"),
      /^7 .* resultSchema\.\$schema: write https:\/\/json-schema\.org\/draft\/2020-12\/schema/,
    ],
    [
      'a schema that would be checked some other time',
      capability('resultSchema: { $async: true }'),
      /^7 .* resultSchema\.\$async: is not JSON Schema$/,
    ],
    [
      'a number that JSON does not have',
      capability('resultSchema: { maximum: .inf }'),
      /^7 .* resultSchema\.maximum: JSON has no such number$/,
    ],
    [
      'a schema without end',
      capability('resultSchema: &it { properties: *it }'),
      /^7 .* resultSchema: must be at most 64 groups deep$/,
    ],
    [
      'a template without end',
      action('{ capability: a, request: &it [*it] }'),
      /^5 .* action\.request: must be at most 64 groups deep$/,
    ],
    [
      'a schema without bounds',
      capability(`resultSchema: { description: ${'x'.repeat(121 * 1024)} }`),
      /^7 .* resultSchema: must be at most 120 KiB of JSON$/,
    ],
    [
      'a side effect outside the list',
      capability('sideEffect: write'),
      /^4 .* sideEffect: must be one of read, sandbox, shared-write, external$/,
    ],
    ['a call without time', capability('timeout: 99ms'), /^8 .* timeout: must be at least 100ms$/],
    ['a call without end', capability('timeout: 601s'), /^8 .* timeout: must be at most 10m$/],
    [
      'capabilities without a manifest',
      tracker('manifestDigest: null'),
      /^7 Connector tracker@1\.0\.0 manifestDigest: is missing; a version with capabilities needs/,
    ],
    [
      'a digest in capitals',
      tracker(`manifestDigest: ${'A'.repeat(64)}`),
      /^7 .* manifestDigest: write a SHA-256 digest: 64 lower-case/,
    ],
    [
      'a rate without a burst',
      tracker('rateLimit: { permits: 1, per: 1s }'),
      /^9 .* rateLimit\.burst: is missing; it must be a number$/,
    ],
    [
      'a rate over too long a time',
      tracker('rateLimit: { permits: 1, per: 2d, burst: 1 }'),
      /^9 .* rateLimit\.per: must be at most 1d$/,
    ],
    [
      'a limit of nothing',
      quotaPolicy('limits: { binding: 0 }'),
      /^3 QuotaPolicy small limits\.binding: must be at least 1; to stop a binding, disable it$/,
    ],
    [
      'a scope that there is not',
      quotaPolicy('limits: { tenant_retry: 1 }'),
      /^3 .* limits\.tenant_retry: there is no such field; known here: binding, instance, connector, tenantRetry, tenant, global$/,
    ],
    [
      'a credential twice',
      account('credentials: [{ revision: r1 }, { revision: r1 }]'),
      /^7 Instance acme\/main credentials\[1\]\.revision: another credential .* same revision$/,
    ],
    [
      'a revision without quotes that YAML reads as a number',
      binding('credentialRevision: 1'),
      /^5 Binding acme\/tickets\.create@main credentialRevision: must be a text: put the value in quotes$/,
    ],
    ['a policy revision of 0', binding('policyRevision: 0'), /^6 .* policyRevision: /],
    [
      'an endpoint outside this machine without TLS',
      replica('endpoint: http://10.0.0.7:7411'),
      /^5 Replica acme\/host-1 endpoint: write an http address of this machine/,
    ],
    [
      'an endpoint without TLS under https',
      replica('transport: https'),
      /^5 .* endpoint: write an https address; transport is https$/,
    ],
    [
      'a password in an endpoint',
      replica('endpoint: http://me:pass@127.0.0.1:1/'),
      /^5 .* endpoint: must hold no user name, password, query or fragment$/,
    ],
    [
      'a peer that is no Ed25519 key',
      replica('peer: { did: did:web:acme.test }'),
      /^8 .* peer\.did: write the did:key of the host’s Ed25519 key/,
    ],
    [
      'a target that goes nowhere',
      target('http: null'),
      /^4 Target acme\/ci http: is missing; a target is one of http, action, workflow, event$/,
    ],
    [
      'a target that goes to both',
      target('action: { capability: tickets.create }'),
      /^5 Target acme\/ci action: a target is one of http, action, workflow, event, not several$/,
    ],
    [
      'a pointer without a slash',
      action('{ capability: a, request: { t: { from: title } } }'),
      FROM,
    ],
    [
      'a pointer with a bad escape',
      action('{ capability: a, request: { t: { from: /a~2 } } }'),
      FROM,
    ],
    ['a pointer that is no text', action('{ capability: a, request: [{ t: { from: 5 } }] }'), FROM],
    [
      'a pointer of an affinity without a slash',
      action('{ capability: a, affinity: { from: repo } }'),
      /^5 .* action\.affinity\.from: write a JSON pointer such as \/issue\/title$/,
    ],
    [
      'a lease that is too short',
      'kind: Settings\nreplicaLease: 10ms\n',
      /^2 Settings replicaLease: must be at least 1s$/,
    ],
  ])('%s', (_name, text, expected) => {
    expect(mistakesOf(text)).toEqual([expect.stringMatching(expected)]);
  });

  test('the same thing twice in one file is a mistake at the second one', () => {
    const text = fleetOf(
      ...[capability(), capability(), quotaPolicy(), quotaPolicy(), binding()],
      ...[binding('priority: 5'), replica(), replica('tenant: globex')],
    );
    expect(mistakesOf(text).map((line) => line.replace(/^\d+ /, ''))).toEqual([
      'Capability tickets.create id: is taken by Capability tickets.create (document 1); keep one of the two',
      'QuotaPolicy small id: is taken by QuotaPolicy small (document 3); keep one of the two',
      'Binding acme/tickets.create@main instance: is taken by Binding acme/tickets.create@main (document 5); keep one of the two',
      'Replica globex/host-1 id: is taken by Replica acme/host-1 (document 7); keep one of the two',
    ]);
  });
});
