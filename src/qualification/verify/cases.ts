/** The records of cases: each judged again by what was found, and held against the files beside it. */
import { isDeepStrictEqual } from 'node:util';
import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';
import type { Lane } from '../../domain/lanes';
import { verifyReceiptChain } from '../../signing/receipts/verify-chain';
import {
  BaselineSummary,
  caseFile,
  CaseRecord,
  FILES,
  OperationLine,
  windowFolder,
  type Summary,
} from '../evidence/records';
import { inWindow, type NamedFamily } from '../families/family';
import { SOUND_LEDGER } from '../families/soak';
import { SOURCES } from '../site/topology';
import type { Boundary, Fault } from '../faults';
import { caseProblems } from '../run-case';
import type { EvidenceFiles } from './evidence-files';

const EXPECTED_BASELINE = {
  status: 'passed',
  cases: 8,
  gateways: 2,
  connector_instances: 3,
  connector_replicas: 4,
};

export function checkBaseline(files: EvidenceFiles): void {
  const summary = files.json(FILES.baseline, BaselineSummary);
  if (summary !== null && !isDeepStrictEqual(summary, EXPECTED_BASELINE)) {
    files.problem(`${FILES.baseline} is not that of a baseline that passed`);
  }
  const operations = files.lines(FILES.operations, OperationLine);
  if (operations.length !== 8 || operations.some(({ no }, index) => no !== index + 1)) {
    files.problem(`${FILES.operations} has not the eight operations`);
  }
  for (const { no, status, response } of operations) {
    if (status !== 'passed') files.problem(`baseline operation ${no} ${status}`);
    if (!files.has(response)) files.problem(`${response} is missing`);
  }
}

const Event = z.looseObject({ at: z.string(), process: z.string(), event: z.string() });
type Event = z.infer<typeof Event>;

export async function checkCases(
  files: EvidenceFiles,
  families: readonly NamedFamily[],
  summary: Summary | null,
): Promise<void> {
  const events = files.lines(FILES.events, Event);
  let before = summary?.startedAt ?? '';
  for (const [index, family] of families.entries()) {
    const name = caseFile(index + 1, family.name);
    files.json(`routes/after-${family.name}.json`, z.unknown());
    const record = files.json(name, CaseRecord);
    if (record === null) continue;
    for (const one of caseProblems(family, record)) files.problem(`${family.name}: ${one}`);
    if (record.case !== family.name || record.status !== 'passed') {
      files.problem(`${name} is not that of a case that passed`);
    }
    const { startedAt, endedAt } = record;
    if (startedAt < before || endedAt < startedAt) files.problem(`${name} is out of its time`);
    before = endedAt;
    checkEvents(files, family, record, events);
    for (const window of windowsOf(family)) await checkWindow(files, window, record);
    if (family.name === 'soak') checkLedger(files, record);
  }
  if (summary !== null && before > summary.completedAt) {
    files.problem(`${FILES.summary} ends before its cases do`);
  }
}

/** What a fault does to a process stands in the list of events, within the time of its case. */
function checkEvents(
  files: EvidenceFiles,
  { name, faults }: NamedFamily,
  { startedAt, endedAt }: CaseRecord,
  events: readonly Event[],
): void {
  for (const fault of faults) {
    const wanted = eventOf(fault);
    if (wanted === null) continue;
    const isThere = events.some(
      ({ at, process, event }) =>
        process === wanted.process && event === wanted.event && at >= startedAt && at <= endedAt,
    );
    if (!isThere)
      files.problem(`${name}: no event tells that ${wanted.process} was ${wanted.event}`);
  }
}

function eventOf(fault: Fault): { readonly process: string; readonly event: string } | null {
  switch (fault.kind) {
    case 'stop':
      return { process: fault.process, event: 'stopped' };
    case 'start':
      return { process: fault.process, event: 'ready' };
    case 'kill':
    case 'crash':
      return { process: fault.process, event: 'killed' };
    case 'freeze':
      return { process: fault.process, event: 'frozen' };
    case 'wake':
      return { process: fault.process, event: 'awake' };
    case 'publish':
    case 'clock':
    case 'foreign-record':
    case 'link':
    case 'token-replayed':
    case 'target':
    case 'away':
    case 'disk':
      return null;
  }
}

const Work = z.object({
  asked: z.int(),
  actions: z.array(z.string()),
  events: z.record(z.enum(SOURCES), z.array(z.string())),
});

function checkLedger(files: EvidenceFiles, record: CaseRecord): void {
  files.json(FILES.work, Work);
  const ledger = files.json(FILES.ledger, z.record(z.string(), z.number()));
  const found = record.findings.filter(({ what }) => what in SOUND_LEDGER);
  const same = Object.fromEntries(found.map((finding) => [finding.what, finding.found]));
  if (ledger !== null && !isDeepStrictEqual(ledger, same)) {
    files.problem(`${FILES.ledger} contradicts the record of its case`);
  }
}

const Checkpoint = z.looseObject({
  boundary: z.string(),
  marker: z.string(),
  /** What was durable when the process was killed, by name. */
  durable: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
});
const Retries = z.array(z.looseObject({ no: z.number(), status: z.number().nullable() })).min(1);
const Recovered = z.object({
  receipts: z.array(z.object({ kind: z.string(), jws: z.string() })),
});
const Keys = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });
const ENDS = ['action_completed', 'acknowledged'];

interface Window {
  readonly boundary: Boundary;
  /** Null: it is of no delivery. */
  readonly lane: Lane | null;
}

function windowsOf({ faults }: NamedFamily): Window[] {
  return faults.flatMap((fault) => {
    if (fault.kind !== 'crash') return [];
    const { boundary, lanes = [null] } = fault;
    return lanes.map((lane) => ({ boundary, lane }));
  });
}

async function checkWindow(
  files: EvidenceFiles,
  { boundary, lane }: Window,
  record: CaseRecord,
): Promise<void> {
  const found = (what: string) =>
    record.findings.find((finding) => finding.what === inWindow(boundary, what, lane))?.found;
  const folder = windowFolder(record.case, boundary, lane);
  const checkpoint = files.json(`${folder}/checkpoint.json`, Checkpoint);
  const isOther = ([what, value]: readonly [string, unknown]) => value !== found(what);
  if (
    checkpoint !== null &&
    (checkpoint.boundary !== boundary || Object.entries(checkpoint.durable).some(isOther))
  ) {
    files.problem(`${folder}/checkpoint.json contradicts the record of its case`);
  }
  const retries = files.json(`${folder}/retries.json`, Retries);
  if (retries !== null && ![200, 202].includes(retries.at(-1)?.status ?? 0)) {
    files.problem(`${folder}/retries.json does not end with an answer`);
  }
  const result = files.json(`${folder}/result.json`, Recovered);
  const keys = files.json(FILES.keys, Keys) as JSONWebKeySet | null;
  if (result === null || keys === null) return;
  const chain = await verifyReceiptChain(
    result.receipts.map(({ jws }) => jws),
    keys,
  ).catch(() => ({ ok: false }));
  const ends = result.receipts.filter(({ kind }) => ENDS.includes(kind)).length;
  if (!chain.ok || ends !== found('receipt chains')) {
    files.problem(`${folder}/result.json holds no whole chain of receipts`);
  }
}
