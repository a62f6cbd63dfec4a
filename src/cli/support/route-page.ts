/** One route as a page for people, and the parts of it that the page of an action shows, too. */
import type { RetiredRoute, Route, RouteAttempt, RouteDetail } from '../../schemas/api-routes';
import { facts, page, plain, table, titled } from './sections';
import type { Column } from './table';

/** @param width columns of the terminal; infinite where a program reads */
export function routePage(route: RouteDetail, width: number): string {
  return page([
    facts([
      ['action', route.actionId],
      ['capability', route.capabilityId],
      ['open until', route.openUntil ?? '-'],
    ]),
    titled('assignment', routeFacts(route)),
    titled('taken back', table(RETIRED, route.retired, width)),
    titled('attempts', attemptTable(route.attempts, width)),
  ]);
}

export function routeFacts(route: Route): string {
  const { topology } = route;
  return facts([
    ['instance', `${route.instanceId}, connector ${route.connectorId} ${route.version}`],
    ['replica', `${route.replicaId} at ${route.endpoint}`],
    ['peer', `${route.peerDid} (${route.peerPrincipalKind} ${route.peerPrincipalId})`],
    ['trust', `${route.trustDomain}, ${route.transportProfile}`],
    ['place', `${topology.region}, ${topology.zone}, ${topology.capacityClass}`],
    [
      'revisions',
      `catalog ${route.catalogRevision}, policy ${route.bindingPolicyRevision}, ` +
        `credential ${route.credentialRevision}`,
    ],
    ['quota', route.quotaPolicyId ?? ''],
    ['assigned', route.assignedAt],
  ]);
}

export function attemptTable(attempts: readonly RouteAttempt[], width: number): string {
  return table(ATTEMPTS, attempts, width);
}

const RETIRED: readonly Column<RetiredRoute>[] = [
  { title: 'at', value: (row) => row.retiredAt },
  { title: 'from', value: (row) => row.replicaId },
  { title: 'by', value: (row) => row.retiredBy, optional: 1 },
  { title: 'reason', value: (row) => row.reason, wraps: true },
  { title: 'proof', value: (row) => plain(row.proof), optional: 2 },
];

const ATTEMPTS: readonly Column<RouteAttempt>[] = [
  { title: 'no', value: (row) => String(row.attemptNo) },
  { title: 'opened', value: (row) => row.openedAt, optional: 1 },
  { title: 'settled', value: (row) => row.settledAt ?? '-', optional: 3 },
  { title: 'settlement', value: settlementText },
  { title: 'replica', value: (row) => `${row.replicaId}/${row.incarnation}`, optional: 2 },
  { title: 'fence', value: (row) => String(row.fence), optional: 4 },
  { title: 'evidence', value: evidenceText, wraps: true },
];

function settlementText({ settlement, cause }: RouteAttempt): string {
  if (settlement === null) return 'open';
  return cause === null ? settlement : `${settlement} (${cause})`;
}

function evidenceText({ evidence, lateEvidence }: RouteAttempt): string {
  const late = lateEvidence.map((one) => `later: ${plain(one)}`);
  const known = evidence === null || Object.keys(evidence).length === 0 ? [] : [plain(evidence)];
  return [...known, ...late].join(' ');
}
