/** One delivery as a page for people. */
import type { DeliveryHistory } from '../../schemas/api-deliveries';
import { receiptTable } from './receipt-table';
import { facts, page, plain, table, titled } from './sections';
import type { Column } from './table';
import { waitsFor } from './waiting';

type Attempt = DeliveryHistory['attemptHistory'][number];
type Replay = DeliveryHistory['replays'][number];

/** @param width columns of the terminal; infinite where a program reads */
export function deliveryPage(delivery: DeliveryHistory, width: number): string {
  return page([
    facts([
      ['delivery', delivery.deliveryId],
      ['state', stateText(delivery)],
      ['lane', delivery.lane],
      ['waits for', waitsFor(delivery)],
      [
        delivery.direction === 'inbound' ? 'event' : 'operation',
        `${delivery.eventType} (${delivery.direction})`,
      ],
      ['connector', `${delivery.connectorId}, instance ${delivery.instanceId}`],
      ...originFacts(delivery),
      ['received', delivery.receivedAt],
      ['settled', delivery.settledAt ?? '-'],
      ['payload', payloadText(delivery)],
      ['repeats', repeatText(delivery)],
      ['made of', readmissionText(delivery)],
      ['Temporal', delivery.workflowUrl ?? delivery.workflowId ?? withoutWorkflow(delivery)],
    ]),
    titled('evidence', facts(Object.entries(delivery.evidence).map(([k, v]) => [k, plain(v)]))),
    titled('attempts', table(ATTEMPTS, delivery.attemptHistory, width)),
    titled('what the target answered', answersText(delivery)),
    titled('came late', lateText(delivery)),
    titled('replays', table(REPLAYS, delivery.replays, width)),
    titled('receipts', receiptTable(delivery.receipts, width)),
  ]);
}

function originFacts(delivery: DeliveryHistory): [string, string][] {
  const { sending, externalId, subscriptionId } = delivery;
  if (sending === null) {
    return [
      ['subscription', subscriptionId ?? '-'],
      ["vendor's id", externalId ?? '-'],
    ];
  }
  const { policyDecision, approvals } = sending;
  return [
    ['asked for', `by ${sending.requestedBy}, of the class ${sending.sideEffect}`],
    ['key', externalId ?? '-'],
    ['policy', policyDecision === null ? '' : `${policyDecision.outcome}, ${policyDecision.id}`],
    [
      'approved',
      approvals
        .map(
          ({ approver, approvalId, expiresAt }) =>
            `by ${approver}, ${approvalId}, until ${expiresAt}`,
        )
        .join('; '),
    ],
  ];
}

const ATTEMPTS: readonly Column<Attempt>[] = [
  { title: 'no', value: (row) => String(row.attempt) },
  { title: 'series', value: (row) => String(row.series), optional: 3 },
  { title: 'opened', value: (row) => row.openedAt, optional: 1 },
  { title: 'took', value: (row) => (row.durationMs === null ? '-' : `${row.durationMs} ms`) },
  { title: 'outcome', value: (row) => row.outcome ?? 'open' },
  { title: 'status', value: (row) => (row.status === null ? '-' : String(row.status)) },
  { title: 'target', value: (row) => row.targetId, optional: 2 },
  { title: 'detail', value: (row) => row.detail ?? row.reason ?? '', wraps: true },
];

const REPLAYS: readonly Column<Replay>[] = [
  { title: 'at', value: (row) => row.replayedAt },
  { title: 'by', value: (row) => row.replayedBy },
  { title: 'series', value: (row) => String(row.series) },
  { title: 'reason', value: (row) => row.reason, wraps: true },
];

/** Of older ones see the JSON. */
const ANSWERS_SHOWN = 3;

/** The first bytes of the newest answers, each in one line. */
function answersText({ attemptHistory }: DeliveryHistory): string {
  const answered = attemptHistory.filter(({ answerHead }) => (answerHead ?? '') !== '');
  return facts(
    answered
      .slice(-ANSWERS_SHOWN)
      .map(({ attempt, answerHead }) => [`attempt ${attempt}`, JSON.stringify(answerHead)]),
  );
}

/** What was reported of attempts that had been given up: it decides nothing by itself, and may settle a doubt. */
function lateText({ attemptHistory }: DeliveryHistory): string {
  return facts(
    attemptHistory.flatMap(({ attempt, lateEvidence }) => {
      if (lateEvidence === null) return [];
      const { outcome, detail } = lateEvidence;
      return [[`attempt ${attempt}`, `${plain(outcome)}: ${plain(detail)}`]];
    }),
  );
}

function withoutWorkflow({ driver, settledAt }: DeliveryHistory): string {
  if (driver !== 'loop') return 'no workflow: never dispatched';
  if (settledAt !== null) return 'no workflow: the express lane needed none';
  return 'none yet: its first attempt is for the loop of the express lane to make';
}

function stateText({ state, attempts, series }: DeliveryHistory): string {
  if (attempts === 0) return state;
  const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
  return series === 1 ? `${state} after ${tries}` : `${state} after ${tries}, series ${series}`;
}

function payloadText({ payloadBytes, contentType, payloadSha256 }: DeliveryHistory): string {
  return `${payloadBytes} bytes, ${contentType ?? 'no content type'}, sha256 ${payloadSha256.slice(0, 16)}`;
}

/** Empty for what is no readmission: such a line is left out. */
function readmissionText({ readmittedFrom }: DeliveryHistory): string {
  return readmittedFrom === null ? '' : `${readmittedFrom}, which was rejected`;
}

/** Empty for what repeats nothing: such a line is left out. */
function repeatText({ duplicateOf, conflict }: DeliveryHistory): string {
  if (duplicateOf === null) return '';
  return conflict ? `${duplicateOf}, with other bytes: a person should look` : duplicateOf;
}
