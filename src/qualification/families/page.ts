/** The families of the page that the matrix follows. */
import { HOST_BOUNDARIES, type HostBoundary } from '../faults';
import {
  ONE_OF_EACH,
  ofEachWindow,
  type Acceptance,
  type FamilyData,
  type FamilyName,
} from './family';

function durable(record: string, effects: number): Acceptance {
  return {
    'record in its store when it was killed': record,
    'provider effects when it was killed': effects,
  };
}

/** It was really there that the process was killed. */
const DURABLE_AT: Readonly<Record<HostBoundary, Acceptance>> = {
  before_intent_persistence: durable('none', 0),
  intent_persisted: durable('intent', 0),
  provider_effect_committed: durable('intent', 1),
  provider_response_received: durable('intent', 1),
  result_persisted: durable('finished', 1),
};

export const PAGE_FAMILIES = {
  baseline: {
    title: 'Baseline and registry topology',
    faults: [],
    invariant:
      'The eight baseline operations pass, exactly four replicas are ready with leases that have not run ' +
      'out, and neither a host nor a data-plane process can publish or read what is not its own.',
    acceptance: {
      'operations that passed': 8,
      'ready replicas with a lease': 4,
      'a host that publishes with what it was given': 'config_invalid',
      "logins that a host's secrets open": 0,
      'data-plane logins that were tried': 4,
      'catalog writes with data-plane logins': 0,
      'reads across the databases': 0,
    },
    needs: [],
  },
  'credential-revocation': {
    title: 'Credential revision revocation',
    faults: [
      { kind: 'stop', process: 'host-globex-tickets-1' },
      { kind: 'publish', change: 'revoke-credential' },
    ],
    invariant:
      'A call fails closed, and one that already waits for a route fails with the credential-revision error.',
    acceptance: {
      'answer to the read': '404 capability_unavailable',
      'actions stored of it': 0,
      'end of the read that waited': 'failed',
      'its error code': 'binding_unavailable.credential_revoked',
      'reads at the provider since': 0,
    },
    needs: [],
  },
  'credential-restore': {
    title: 'Credential policy restore',
    faults: [
      { kind: 'publish', change: 'restore-credential' },
      { kind: 'start', process: 'host-globex-tickets-1' },
    ],
    invariant: 'One publication restores the revision, and the same read completes.',
    acceptance: { 'revisions of the catalog that it took': 1, 'state of the read': 'completed' },
    needs: ['credential-revocation'],
  },
  'tenant-isolation': {
    title: 'Tenant and provider isolation',
    faults: [{ kind: 'foreign-record', tenant: 'globex', account: 'acme-tickets' }],
    invariant:
      "One tenant's request for another tenant's record fails closed and discloses nothing.",
    acceptance: {
      'state of the read': 'failed',
      'its error code': 'record_not_found',
      'its result': 'none',
      'records that the provider disclosed': 0,
      'requests that the provider refused': 1,
      'a value stands in the answer': false,
      'what the other tenant sees of the action': '404 not_found',
    },
    needs: [],
  },
  'gateway-failover': {
    title: 'Gateway replica failover',
    faults: [{ kind: 'stop', process: 'gateway-1' }],
    invariant: 'The same signed read completes through the other gateway.',
    acceptance: {
      'gateway before': 'gateway-1',
      'gateway of the same call': 'gateway-2',
      'gateway of the next': 'gateway-2',
      'state of gateway-before': 'completed',
      'state of gateway-after': 'completed',
    },
    needs: [],
  },
  'graceful-failover': {
    title: 'Graceful connector failover',
    faults: [{ kind: 'stop', process: 'host-acme-tickets-2' }],
    invariant: 'The registry marks the replica offline, and routing goes on through its peer.',
    acceptance: {
      'status of the stopped replica': 'offline',
      'state of the read': 'completed',
      'replica of its route': 'acme-tickets-1',
    },
    needs: [],
  },
  'lease-expiry': {
    title: 'Lease-expiry fencing',
    faults: [{ kind: 'kill', process: 'host-acme-tickets-1' }],
    invariant:
      'Once the lease has run out, routing fails closed instead of using the dead replica.',
    acceptance: {
      'status of the killed replica': 'offline',
      'state of the read': 'failed',
      'its error code': 'deadline_exceeded',
      'routes that it was given': 0,
    },
    needs: ['graceful-failover'],
  },
  'host-recovery': {
    title: 'Host recovery',
    faults: [{ kind: 'start', process: 'host-acme-tickets-1' }],
    invariant: 'The replica comes back as a new incarnation, and signed routing recovers.',
    acceptance: {
      'status of the replica': 'ready',
      'incarnations since': 1,
      'state of the read': 'completed',
      'replica of its route': 'acme-tickets-1',
    },
    needs: ['lease-expiry'],
  },
  'idempotent-replay': {
    title: 'Idempotent mutation replay',
    faults: [{ kind: 'kill', process: 'host-globex-tickets-1' }],
    invariant:
      'A mutation that was completed is asked for again under its key: everything is there once.',
    acceptance: {
      ...ONE_OF_EACH,
      'the same result is answered each time': true,
      'open attempts': 0,
    },
    needs: [],
  },
  'crash-windows': {
    title: 'Synchronous crash windows',
    faults: HOST_BOUNDARIES.map((boundary) => ({
      ...{ kind: 'crash', process: 'host-acme-tickets-1', boundary },
    })),
    invariant:
      'Killed at each durable boundary, the host comes back, the same call is made again, and every ' +
      'record of the action is there exactly once.',
    acceptance: ofEachWindow(DURABLE_AT, {
      ...ONE_OF_EACH,
      'state after the retry': 'completed',
      'replicas that it was sent to': 1,
      'open attempts': 0,
      'replica counters that differ from them': 0,
      'quota counters that differ from them': 0,
    }),
    needs: [],
  },
  'database-outage': {
    title: 'Shared database outage',
    faults: [{ kind: 'stop', process: 'postgres' }],
    invariant:
      'Calls fail closed at every gateway, and nothing is accepted that could be forgotten.',
    acceptance: {
      'answer of gateway-1': '503 storage_unavailable',
      'answer of gateway-2': '503 storage_unavailable',
      'the lifecycle service is ready': false,
    },
    needs: [],
  },
  'database-recovery': {
    title: 'Database recovery',
    faults: [{ kind: 'start', process: 'postgres' }],
    invariant:
      'Without any process being replaced, gateways, lifecycle service, hosts and signed routing recover.',
    acceptance: {
      'processes that were replaced': 0,
      'processes that are ready again': 9,
      'ready replicas with a lease': 4,
      'state of the read': 'completed',
      'actions of the outage that were stored': 0,
      'provider effects of the outage': 0,
    },
    needs: ['database-outage'],
  },
  'admission-revocation': {
    title: 'Admission revocation',
    faults: [{ kind: 'publish', change: 'revoke-package' }],
    invariant:
      'A signed statement revokes the admitted version, and routing through it fails closed.',
    acceptance: {
      'status of the version': 'revoked',
      'answer to the read': '404 capability_unavailable',
      'actions stored': 0,
      'state of an action of the other connector': 'completed',
    },
    needs: [],
  },
} as const satisfies Partial<Record<FamilyName, FamilyData>>;
