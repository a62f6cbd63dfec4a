/**
 * The failure matrix as data, in the order in which it runs: of each family what is done to the deployment,
 * and what must then be found. How it is done and looked for is in `cases`; what is found is compared here
 * and nowhere else, in a run and once more when its evidence is verified.
 */
import { CRASH_BOUNDARIES, type CrashBoundary, type Fault } from './faults';

/** What must be found, by name; compared as JSON values. */
export type Acceptance = Readonly<Record<string, string | number | boolean>>;

export interface Family {
  readonly name: string;
  readonly title: string;
  readonly faults: readonly Fault[];
  /** For people; `acceptance` says the same to the machine. */
  readonly invariant: string;
  readonly acceptance: Acceptance;
  /** Families whose end it begins from; they run before it, also where it is asked for alone. */
  readonly needs: readonly FamilyName[];
}

export type FamilyName = (typeof FAMILY_NAMES)[number];

export const FAMILY_NAMES = [
  'baseline',
  'credential-revocation',
  'credential-restore',
  'tenant-isolation',
  'gateway-failover',
  'graceful-failover',
  'lease-expiry',
  'host-recovery',
  'idempotent-replay',
  'crash-windows',
  'database-outage',
  'database-recovery',
  'admission-revocation',
] as const;

/** Of one action that had its effect: each of the records that prove it, once. */
const ONE_OF_EACH: Acceptance = {
  'provider effects': 1,
  'provider creation audit events': 1,
  'settled idempotency results': 1,
  'terminal action results': 1,
  'receipt chains': 1,
};

/** The record of a crash window that an observation belongs to. */
export function inWindow(boundary: CrashBoundary, what: string): string {
  return `${boundary}: ${what}`;
}

/** What is durable at each boundary: it was really there that the process was killed. */
const DURABLE_AT: Readonly<Record<CrashBoundary, { record: string; effects: number }>> = {
  before_intent_persistence: { record: 'none', effects: 0 },
  intent_persisted: { record: 'intent', effects: 0 },
  provider_effect_committed: { record: 'intent', effects: 1 },
  provider_response_received: { record: 'intent', effects: 1 },
  result_persisted: { record: 'finished', effects: 1 },
};

function ofEachWindow(acceptance: Acceptance): Acceptance {
  return Object.fromEntries(
    CRASH_BOUNDARIES.flatMap((boundary) => {
      const { record, effects } = DURABLE_AT[boundary];
      const all: Acceptance = {
        'record in its store when it was killed': record,
        'provider effects when it was killed': effects,
        ...acceptance,
      };
      return Object.entries(all).map(([what, expected]) => [inWindow(boundary, what), expected]);
    }),
  );
}

export const FAMILIES: Readonly<Record<FamilyName, Omit<Family, 'name'>>> = {
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
    faults: CRASH_BOUNDARIES.map((boundary) => ({ kind: 'crash', ...crashOf(boundary) })),
    invariant:
      'Killed at each durable boundary, the host comes back, the same call is made again, and every ' +
      'record of the action is there exactly once.',
    acceptance: ofEachWindow({
      ...ONE_OF_EACH,
      'state after the retry': 'completed',
      'replicas that it was sent to': 1,
      'open attempts': 0,
      'counters that differ from them': 0,
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
};

function crashOf(boundary: CrashBoundary) {
  return { process: 'host-acme-tickets-1', boundary } as const;
}
