/** The connector of the null host: one capability that does nothing, at once. */
import { capability, type Capability } from '../../src/hosts/kit/connector';

export const NOTHING = 'nothing.do';

/** What host and fleet agree on. */
export const NULL_HOST = {
  tenantId: 'bench',
  connectorId: 'nothing',
  instanceId: 'nothing-bench',
  version: '1.0.0',
  replicaId: 'nothing-1',
  credentialRevisions: ['r1'],
} as const;

export const NOTHING_CONTRACT = {
  interfaceName: 'bench',
  sideEffect: 'shared-write',
  recovery: 'provider_key',
  requestSchema: {
    type: 'object',
    properties: { pad: { type: 'string', maxLength: 2_000 } },
    required: ['pad'],
    additionalProperties: false,
  },
  resultSchema: {
    type: 'object',
    properties: { done: { type: 'string' } },
    required: ['done'],
    additionalProperties: false,
  },
  timeoutMs: 30_000,
} as const satisfies Capability['contract'];

/** Tells `onDone` of every action that it is given; each has a result of its own. */
export function nullCapabilities(onDone: (action: string) => void): Record<string, Capability> {
  return {
    [NOTHING]: capability({
      contract: NOTHING_CONTRACT,
      parse: (body) => body,
      execute: ({ action }) => {
        onDone(action);
        return Promise.resolve({ kind: 'succeeded', result: { done: action } });
      },
    }),
  };
}
