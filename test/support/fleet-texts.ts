/** Documents of fleet files for tests: a working one of each kind, with fields laid over it. */

export function fleetOf(...documents: readonly string[]): string {
  return documents.join('---\n');
}

/** Each change is one line `field: value`, in flow style; it replaces the line of that field. */
export function connector(...changes: readonly string[]): string {
  return written(changes, [
    ...['kind: Connector', 'id: github', 'name: GitHub', 'provider: github', 'version: 1.0.0'],
    'webhookScheme: github',
  ]);
}

export function instance(...changes: readonly string[]): string {
  return written(changes, [
    ...['kind: Instance', 'tenant: acme', 'id: github', 'connector: github', 'version: 1.0.0'],
    'grants: [source]',
  ]);
}

export function target(...changes: readonly string[]): string {
  return written(changes, [
    ...['kind: Target', 'tenant: acme', 'id: ci'],
    'http: { url: http://ci.test/ }',
  ]);
}

export function subscription(...changes: readonly string[]): string {
  return written(changes, [
    ...['kind: Subscription', 'tenant: acme', 'id: pushes', 'instance: github', 'target: ci'],
    'eventTypes: [push]',
    'ingress: { ref: pushes-7f3a9c, secrets: [{ id: current, ref: env:SECRET }] }',
  ]);
}

export function capability(...changes: readonly string[]): string {
  return written(changes, [
    ...['kind: Capability', 'id: tickets.create', 'interface: work-items'],
    ...['sideEffect: shared-write', 'recovery: lookup'],
    'requestSchema: { type: object, properties: { title: { type: string } }, required: [title] }',
    'resultSchema: { type: object }',
  ]);
}

/** A connector that offers the capability and receives nothing. */
export function tracker(...changes: readonly string[]): string {
  return connector(
    ...['id: tracker', 'name: Tracker', 'provider: tracker', 'webhookScheme: null'],
    ...[`manifestDigest: ${'5f'.repeat(32)}`, 'capabilities: [tickets.create]', ...changes],
  );
}

/** An account of the tracker. */
export function account(...changes: readonly string[]): string {
  return instance(
    ...['id: main', 'connector: tracker', 'grants: [tool]', 'credentials: [{ revision: r1 }]'],
    ...changes,
  );
}

export function quotaPolicy(...changes: readonly string[]): string {
  return written(changes, ['kind: QuotaPolicy', 'id: small', 'limits: { binding: 2 }']);
}

export function binding(...changes: readonly string[]): string {
  return written(changes, [
    ...['kind: Binding', 'tenant: acme', 'capability: tickets.create', 'instance: main'],
    'credentialRevision: r1',
  ]);
}

export function replica(...changes: readonly string[]): string {
  return written(changes, [
    ...['kind: Replica', 'tenant: acme', 'id: host-1', 'instance: main'],
    ...['endpoint: http://127.0.0.1:7411', 'transport: http-loopback', 'trustDomain: acme.test'],
    `peer: { did: ${PEER_DID} }`,
    ...['region: eu', 'zone: a', 'capacity: 10'],
  ]);
}

/** Of a published key that nobody uses. */
const PEER_DID = 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK';

function written(changes: readonly string[], lines: readonly string[]): string {
  const fields = new Map([...lines, ...changes].map((line) => [line.split(':', 1)[0], line]));
  return `${[...fields.values()].join('\n')}\n`;
}
