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

function written(changes: readonly string[], lines: readonly string[]): string {
  const fields = new Map([...lines, ...changes].map((line) => [line.split(':', 1)[0], line]));
  return `${[...fields.values()].join('\n')}\n`;
}
