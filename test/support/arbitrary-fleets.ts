/**
 * Fleets of all shapes for property tests: valid documents of every kind that refer to one another,
 * with texts, numbers and JSON of which YAML and Postgres could make something else.
 */
import * as fc from 'fast-check';
import { REQUIRABLE_KINDS } from '../../src/schemas/evidence-statements';
import { didOfKey } from '../../src/signing/did-key';
import { arbitraryOutbound, signingSecretRefs } from './arbitrary-outbound';
import { ALLOWED_WORKFLOWS, CAPABILITIES, eventSinks, targets } from './arbitrary-targets';
import type { Document, Draw } from './arbitrary-values';
import { arbitraryJsonGroup, duration, json, key, secretRef, text } from './arbitrary-values';
import { ARTIFACT, newSigner, vouching } from './evidence-texts';

const TENANTS = ['acme', 'globex'];
const SIGNER = newSigner();
/** Of published keys that nobody uses. */
const DID = 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK';
const APPROVER = didOfKey(newSigner().x);
const OTHER_APPROVER = didOfKey(newSigner().x);

const label = text.map((some) => `L${some.trim()}x`.slice(0, 200));
const retry = fc.oneof(
  fc.record(
    {
      ...{ attempts: fc.integer({ min: 1, max: 100 }), backoff: fc.constant('exponential') },
      ...{ base: duration, max: duration, totalSpan: duration, retryAfterCap: duration },
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    },
    { requiredKeys: ['attempts', 'backoff', 'base'] },
  ),
  fc.record({
    attempts: fc.integer({ min: 1, max: 100 }),
    backoff: fc.array(duration, { minLength: 1, maxLength: 3 }),
  }),
);
/** The text of a fleet file; every field of every kind comes up. */
export function arbitraryFleet(draw: Draw): string {
  const capabilities = CAPABILITIES.map((id) => capability(draw, id));
  const policies = ['small', 'large'].map((id) => quotaPolicy(draw, id));
  const required = draw(() => fc.subarray([...REQUIRABLE_KINDS]));
  const accounts = [1, 2, 3].map((nth) => account(draw, nth, required));
  return [
    ...capabilities,
    ...policies,
    ...accounts.flat(),
    draw(fc.boolean)
      ? settings(draw, required)
      : { kind: 'Settings', workflowTargets: ALLOWED_WORKFLOWS },
  ]
    .map((document) => `${JSON.stringify(document)}\n`)
    .join('---\n');
}

function settings(draw: Draw, requiredEvidence: readonly string[]): Document {
  const some = draw(() =>
    fc.record(
      {
        replayWindowMinutes: fc.integer({ min: 1, max: 43_200 }),
        defaultRetry: retry,
        rejectedBytesMinutes: fc.integer({ min: 1, max: 10_080 }),
        circuitUnknowns: fc.integer({ min: 0, max: 1000 }),
        circuitOpen: fc.constantFrom('100ms', '1500ms', '90s', '1h'),
        circuitProbes: fc.integer({ min: 1, max: 100 }),
        replicaLease: fc.constantFrom('1s', '1500ms', '10m'),
        approvalTtl: fc.constantFrom('1s', '2h', '30d'),
        trustedApprovers: fc.constantFrom(
          {},
          {
            'kate@example.com': { keys: [APPROVER] },
            max: { keys: [OTHER_APPROVER], tenants: TENANTS },
          },
        ),
        replicaHysteresis: fc.integer({ min: 1, max: 20 }),
        actionRetentionDays: fc.integer({ min: 1, max: 3650 }),
        tombstoneRetentionDays: fc.integer({ min: 3650, max: 36_500 }),
        retention: fc.constantFrom(
          {},
          { acknowledgedDays: 60, failedPayloadDays: 1 },
          { receiptDays: 1000, tenants: { acme: { rejectedDays: 1, receiptDays: 100 } } },
        ),
        tenantInFlight: fc.integer({ min: 1, max: 10_000 }),
        eventRetentionDays: fc.integer({ min: 1, max: 3650 }),
        eventHoldDays: fc.integer({ min: 1, max: 3650 }),
        targetAddresses: fc.record(
          {
            http: fc.boolean(),
            ports: fc.uniqueArray(fc.integer({ min: 1, max: 65_535 }), { maxLength: 3 }),
            allow: fc.subarray(['10.0.0.0/8', '::1', 'fd00::/8', '127.0.0.1']),
          },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    ),
  );
  const trustedSigners = { release: { kty: 'OKP', crv: 'Ed25519', x: SIGNER.x } };
  return {
    ...{ kind: 'Settings', ...some, workflowTargets: ALLOWED_WORKFLOWS },
    ...(requiredEvidence.length > 0 ? { requiredEvidence, trustedSigners } : {}),
  };
}

function capability(draw: Draw, id: string): Document {
  const schema = () =>
    draw(() =>
      fc
        .tuple(fc.dictionary(key, fc.constant({ type: 'string' }), { maxKeys: 3 }), json, text)
        .map(([properties, example, description]) => {
          return { type: 'object', properties, default: example, description };
        }),
    );
  return {
    ...{ kind: 'Capability', id, interface: 'work-items' },
    sideEffect: draw(fc.constantFrom<string[]>, 'read', 'sandbox', 'shared-write', 'external'),
    recovery: draw(fc.constantFrom<string[]>, 'provider_key', 'lookup', 'none'),
    ...{ requestSchema: schema(), resultSchema: schema() },
    timeout: draw(fc.constantFrom<string[]>, '100ms', '30s', '10m'),
  };
}

function quotaPolicy(draw: Draw, id: string): Document {
  const limit = fc.integer({ min: 1, max: 2_147_483_647 });
  const limits = draw(() =>
    fc.record(
      {
        ...{ binding: limit, instance: limit, connector: limit },
        ...{ tenantRetry: limit, tenant: limit, global: limit },
      },
      { requiredKeys: [] },
    ),
  );
  return { kind: 'QuotaPolicy', id, limits };
}

/** A connector with its versions, an instance of it, and what stands on that. */
function account(draw: Draw, nth: number, required: readonly string[]): Document[] {
  const tenant = draw(fc.constantFrom<string[]>, ...TENANTS);
  const offered = draw(() => fc.subarray(CAPABILITIES));
  const connector = {
    ...{ kind: 'Connector', id: `connector-${nth}` },
    ...draw(() => fc.record({ name: label, provider: label })),
    ...(draw(fc.boolean) ? { tenant } : {}),
    ...(draw(fc.boolean) ? { enabled: draw(fc.boolean) } : {}),
    ...draw(() =>
      fc.record(
        {
          retry,
          profiles: fc.subarray(['aip-1', 'mcp', 'a2a']),
          adapterRef: fc.record({
            kind: fc.constantFrom('host', 'http'),
            ...{ name: label, version: fc.constant('2.0.0') },
          }),
          configurationForm: fc.constant({ type: 'object' }),
          releaseId: label,
          rateLimit: fc.record({
            permits: fc.integer({ min: 1, max: 1_000_000 }),
            ...{ per: duration, burst: fc.integer({ min: 1, max: 1_000_000 }) },
          }),
        },
        { requiredKeys: [] },
      ),
    ),
  };
  const receives = draw(fc.boolean);
  const active = {
    ...{ ...connector, version: '1.0', status: 'active', capabilities: offered },
    ...(required.length > 0 || draw(fc.boolean) ? { artifactDigest: ARTIFACT } : {}),
    ...(receives ? { webhookScheme: draw(fc.constantFrom<unknown[]>, 'github', SCHEME) } : {}),
    ...(offered.length > 0 || draw(fc.boolean) ? { manifestDigest: '5f'.repeat(32) } : {}),
    ...(draw(fc.boolean) ? { outbound: draw(() => arbitraryOutbound(offered)) } : {}),
  };
  const other = {
    ...{ ...connector, version: '1.1.0-rc+1' },
    // Certified needs the evidence of the suite where that is required.
    status: draw(
      fc.constantFrom<string[]>,
      ...['draft', 'deprecated', 'revoked'],
      ...(required.includes('conformance') ? [] : ['certified']),
    ),
  };
  const instance = {
    ...{ kind: 'Instance', tenant, id: `account-${nth}`, connector: connector.id, version: '1.0' },
    ...{ grants: ['tool', 'source'], credentials: [{ revision: 'r1' }, credential(draw)] },
    ...draw(() =>
      fc.record({ config: arbitraryJsonGroup, secretRef, signingSecretRefs }, { requiredKeys: [] }),
    ),
    configRevision: draw(fc.integer, { min: 1, max: Number.MAX_SAFE_INTEGER }),
  };
  return [
    ...[active, ...vouching(SIGNER, active, required), other, instance],
    ...offered.map((id) => binding(draw, instance, id)),
    replica(draw, instance, 1),
    // A revoked version takes no new one.
    {
      ...replica(draw, instance, 2),
      ...(other.status === 'revoked' ? {} : { version: other.version }),
    },
    ...targets(draw, instance),
    ...subscriptions(draw, instance, receives),
    ...eventSinks(draw, instance),
  ];
}

type Instance = Readonly<Record<'tenant' | 'id', string>>;

function credential(draw: Draw): Document {
  return { revision: 'r2', status: draw(fc.constantFrom<string[]>, 'active', 'revoked') };
}

function binding(draw: Draw, { tenant, id }: Instance, capabilityId: string): Document {
  const spread = draw(fc.boolean);
  return {
    ...{ kind: 'Binding', tenant, capability: capabilityId, instance: id, spread },
    credentialRevision: 'r1',
    // Several that do not share are of different priorities.
    priority: spread ? 500 : Number(id.at(-1)),
    ...draw(() =>
      fc.record(
        {
          ...{ enabled: fc.boolean(), spill: fc.constantFrom('never', 'capacity') },
          policyRevision: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
          quotaPolicy: fc.constantFrom('small', 'large'),
          approval: fc.constant('required'),
        },
        { requiredKeys: [] },
      ),
    ),
  };
}

function replica(draw: Draw, { tenant, id }: Instance, nth: number): Document {
  const secure = draw(fc.boolean);
  return {
    ...{ kind: 'Replica', tenant, id: `${id}-${nth}`, instance: id },
    ...(secure
      ? { endpoint: 'https://hosts.test:8443/a%20b', transport: 'https' }
      : { endpoint: 'http://[::1]:7411', transport: 'http-loopback' }),
    peer: { did: DID, ...(draw(fc.boolean) ? { principalId: '*!x', principalKind: '1.0' } : {}) },
    ...{ trustDomain: draw(fc.constantFrom<string[]>, 'acme.test', '0', '~'), region: 'eu' },
    ...{ zone: draw(fc.constantFrom<string[]>, 'a', '1', '0x1', 'no') },
    ...(draw(fc.boolean) ? { capacityClass: 'large' } : {}),
    capacity: draw(fc.integer, { min: 0, max: 100_000 }),
  };
}

function subscriptions(draw: Draw, { tenant, id }: Instance, receives: boolean): Document[] {
  const secrets = [
    { id: 'current', ref: draw(() => secretRef), notBefore: '2026-01-31T01:00:00+01:00' },
    { id: 'previous', ref: 'env:OLD', notAfter: '2030-01-31T00:00:00.5Z' },
  ];
  const ingress = { ref: `ingress-${tenant}-${id}`, secrets };
  return ['http', 'action'].map((kind, nth) => ({
    ...{ kind: 'Subscription', tenant, id: `${id}-${kind}`, instance: id, target: `${id}-${kind}` },
    eventTypes: draw(() =>
      fc.oneof(fc.constant(['*']), fc.uniqueArray(label, { minLength: 1, maxLength: 3 })),
    ),
    ...draw(() =>
      fc.record(
        {
          ...{ retry, state: fc.constantFrom('active', 'paused', 'deactivated') },
          drainPerSecond: fc.constantFrom(0.5, 20),
          lane: fc.constantFrom('durable', 'express'),
        },
        { requiredKeys: [] },
      ),
    ),
    ...(receives && nth === 0
      ? { ingress: { ...ingress, ...(draw(fc.boolean) ? { bodyLimit: '512KiB' } : {}) } }
      : {}),
  }));
}

/** One of nobody in particular. */
const SCHEME = {
  ...{ kind: 'hmac', hash: 'sha512', key_encoding: 'base64', message: '{header:X-Y}\\n{body}: #' },
  signature: { location: 'header', name: 'X-S', format: 'prefix', prefix: 'v1 #', encoding: 'hex' },
  event_type: { location: 'body', name: ['type', 'a.b'] },
};
