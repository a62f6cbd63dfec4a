/** Where an arbitrary fleet's deliveries and events go. */
import * as fc from 'fast-check';
import { EVENT_TYPES } from '../../src/domain/events';
import type { Document, Draw } from './arbitrary-values';
import { json, secretRef, text } from './arbitrary-values';

export const CAPABILITIES = ['issues.open', 'issues.close', 'mail-send'];

type Instance = Readonly<Record<'tenant' | 'id', string>>;

export function targets(draw: Draw, { tenant, id }: Instance): Document[] {
  const http = draw(() =>
    fc.record(
      {
        url: fc.constantFrom('http://ci.test/', 'https://ci.test/a?b=1#c'),
        ...{
          timeout: fc.constantFrom('100ms', '240s'),
          secretRefs: fc.array(secretRef, { maxLength: 2 }),
        },
        success: fc.record({
          pointer: fc.constantFrom('/ok', '/a/0', '/ '),
          equals: fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null)),
        }),
      },
      { requiredKeys: ['url'] },
    ),
  );
  const action = draw(() =>
    fc.record(
      {
        capability: fc.constantFrom(...CAPABILITIES),
        request: fc.oneof(
          json.filter((value) => !JSON.stringify(value).includes('"from"')),
          fc.constant({ title: { from: '/issue/title' }, all: { from: '' } }),
        ),
        affinity: fc.constant({ from: '/a~1b' }),
      },
      { requiredKeys: ['capability'] },
    ),
  );
  const signal = draw(() => fc.option(fc.constant({ name: 'delivered', workflow: 'inbox' })));
  const kinds = { http, action, workflow: { ...WORKFLOW, signal }, event: {} };
  return Object.entries(kinds).map(([kind, config]) => ({
    ...{ kind: 'Target', tenant, id: `${id}-${kind}`, [kind]: config },
    ...draw(() => flow),
  }));
}

const WORKFLOW = { taskQueue: 'theirs', type: 'triage' };
/** Of Settings: those that the targets name, and others. */
export const ALLOWED_WORKFLOWS = [
  { ...WORKFLOW, tenants: ['acme', 'globex'] },
  { taskQueue: 'theirs', type: 'other' },
];

const flow = fc.record(
  {
    drainPerSecond: fc.constantFrom(0.001, 2.5, 1000),
    maxInFlight: fc.integer({ min: 1, max: 100 }),
    breaker: fc.record(
      {
        failures: fc.integer({ min: 0, max: 1000 }),
        open: fc.constantFrom('100ms', '1500ms', '1h'),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

export function eventSinks(draw: Draw, { tenant, id }: Instance): Document[] {
  const sink = draw(() =>
    fc.record(
      {
        url: fc.constantFrom('https://audit.test/', 'https://audit.test/a?b=1#c'),
        secretRefs: fc.array(secretRef, { minLength: 1, maxLength: 2 }),
        timeout: fc.constantFrom('100ms', '60s'),
        types: fc.oneof(
          fc.constant(['*']),
          fc.uniqueArray(fc.constantFrom(...EVENT_TYPES), { minLength: 1, maxLength: 3 }),
        ),
        state: fc.constantFrom('active', 'paused'),
      },
      { requiredKeys: ['url', 'secretRefs'] },
    ),
  );
  return [{ kind: 'EventSink', tenant, id: `${id}-sink`, ...sink }];
}
