/** docs/errors.md explains every reason and error code that Waybill itself gives an action. */
import ts from 'typescript';
import type { SettleStep } from '../../src/domain/action-activities';
import { HOST_REFUSALS, type HostOutcome } from '../../src/domain/host-protocol';
import type { BindingFault, QuotaScope, ReplicaFault } from '../../src/domain/routes';
import type { LostReason, NotSentReason } from '../../src/hosts/client/results';
import { refusalWords } from '../../src/services/actions/refusal-words';
import { nodesOf, projectFiles, read, syntaxOf } from './repository';

/** Complete, or it does not compile. */
const keys = <Word extends string>(words: Readonly<Record<Word, 0>>): Word[] =>
  Object.keys(words) as Word[];

const BINDING = keys<BindingFault>({
  ...{ no_binding: 0, binding_disabled: 0, instance_disabled: 0, connector_disabled: 0 },
  ...{ version_not_active: 0, capability_not_offered: 0, credential_revoked: 0 },
  ...{ affinity_unavailable: 0, evidence_expired: 0 },
});
const REPLICA = keys<ReplicaFault>({
  ...{ none_registered: 0, none_ready: 0, at_capacity: 0, circuit_open: 0, wrong_topology: 0 },
  pinned_unavailable: 0,
});
const SCOPE = keys<QuotaScope>({
  ...{ binding: 0, instance: 0, connector: 0, tenant_retry: 0, tenant: 0, global: 0 },
});
const retryInMs = 1;

const REFUSED = [
  ...BINDING.map((why) => refusalWords({ kind: 'binding_unavailable', why })),
  ...REPLICA.map((why) => refusalWords({ kind: 'replica_unavailable', why, retryInMs })),
  ...SCOPE.map((scope) => refusalWords({ kind: 'capacity_exceeded', scope, retryInMs })),
  refusalWords({ kind: 'conflict', detail: '' }),
  refusalWords({ kind: 'rate_limited', instanceId: '', retryInMs }),
  ...(['contended', 'deadline'] as const).map((kind) => refusalWords({ kind })),
  refusalWords({ kind: 'budget', attempts: 1 }),
  refusalWords({ kind: 'no_route', why: { reason: '', detail: '' } }),
].map(({ reason }) => reason);

const ANSWERED = [
  ...HOST_REFUSALS,
  ...keys<HostOutcome['kind']>({
    ...{ succeeded: 0, failed: 0, cancelled: 0, running: 0, not_started: 0, unknown: 0 },
  }),
  ...keys<NotSentReason>({
    ...{ connection_refused: 0, connection_failed: 0, endpoint_refused: 0 },
    ...{ request_too_large: 0, aborted: 0 },
  }),
  ...keys<LostReason>({
    ...{ timed_out: 0, connection_lost: 0, wrong_signature: 0, wrong_reference: 0 },
    ...{ answer_invalid: 0, answer_too_large: 0, aborted: 0 },
  }),
];
const SETTLED = keys<SettleStep['reason']>({ never_taken: 0, worker_lost: 0, not_settled: 0 });
/** Where a template writes them, and the table that lists what it may. */
const HOST_REFUSED = wordsOf('src/services/actions/closings.ts', ['FINAL_REFUSALS']).map(
  (refusal) => `host_refused.${refusal}`,
);

const LITERALS = [
  ...projectFiles('src/services/actions'),
  ...['src/db/action-steps.ts', 'src/hosts/kit/outcomes.ts'],
].flatMap((file) => wordsOf(file, ['reason', 'errorCode']));

/** The words of functions in SQL: what is written as a reason, or handed to an operator for one. */
const IN_SQL = projectFiles('migrations')
  .filter((file) => file.endsWith('.sql') && /^migrations\/0(1[6-9]|2)|approvals\.sql$/.test(file))
  .flatMap((file) => [
    ...read(file).matchAll(
      /(?:'reason', |'repeatable' then |hand_to_operator\(a, )'([a-z_]+)'|"reason": "([a-z_]+)"/g,
    ),
  ])
  .map(([, written, inJson]) => written ?? inJson ?? '')
  .concat('result_lost', 'awaiting_approval');

const [, section = ''] = read('docs/errors.md').split('## Reasons of an action');
const documented = [...section.matchAll(/^\| *(`.*?) \|/gm)].flatMap(([, cell = '']) =>
  [...cell.matchAll(/`([a-z_.]+)`/g)].map(([, word = '']) => word),
);

test('each reason and error code is explained, and no other', () => {
  expect(IN_SQL).toEqual(expect.arrayContaining(['cancel_uncertain', 'resolved', 'closed']));
  const given = [...REFUSED, ...ANSWERED, ...SETTLED, ...HOST_REFUSED, ...LITERALS, ...IN_SQL];
  expect([...new Set(documented)].sort()).toEqual([...new Set(given)].sort());
});

/** The words among the strings of what these names are set to, in a file. */
function wordsOf(file: string, names: readonly string[]): string[] {
  const strings = [...nodesOf(syntaxOf(file))]
    .filter((node) => ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node))
    .filter(({ name }) => ts.isIdentifier(name) && names.includes(name.text))
    .flatMap(({ initializer }) => (initializer === undefined ? [] : [...nodesOf(initializer)]))
    .filter(ts.isStringLiteral);
  return strings.map(({ text }) => text).filter((text) => /^[a-z_]+$/.test(text));
}
