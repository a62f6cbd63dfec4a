/** What is wrong with a fleet file: where, which field, and what to do about it. */
import { WaybillError } from '../../domain/errors';

/** Codes of their own: what is published and may not become what the file says. */
export type FleetMistakeCode =
  | 'fleet_invalid'
  | 'version_immutable'
  | 'version_revoked'
  | 'capability_immutable'
  | 'replica_immutable'
  | 'revision_not_newer'
  | 'evidence_immutable'
  | 'evidence_refused'
  | 'evidence_missing';

export interface FleetMistake {
  readonly code: FleetMistakeCode;
  /** Kind, id and position of the document, e.g. `Subscription acme/pushes (document 5)`. */
  readonly document: string;
  /** Line in the file, from 1. */
  readonly line: number;
  /** The field's path, e.g. `ingress.secrets[0].ref`; empty for the document as a whole. */
  readonly field: string;
  /** What is wrong and what to write instead; never repeats a value that could be a secret. */
  readonly problem: string;
}

export type FieldPath = readonly (string | number)[];

/** A document's place in its file, for mistakes that are found later. */
export interface Place {
  /** Kind, id and position, e.g. `Target acme/ci (document 3)`. */
  readonly document: string;
  readonly lineOf: (path: FieldPath) => number;
}

/** A document's content with its place in the file. */
export interface Placed<Thing> {
  readonly place: Place;
  readonly thing: Thing;
}

/** Most mistakes that one message lists. */
const LISTED = 50;

/** Every mistake of a fleet file; nothing was applied. */
export class FleetInvalid extends WaybillError {
  readonly mistakes: readonly FleetMistake[];

  constructor(mistakes: readonly FleetMistake[]) {
    const first = mistakes[0];
    super(codeOf(mistakes), describe(mistakes), first === undefined ? {} : { field: first.field });
    this.mistakes = mistakes;
  }
}

export function mistakeAt(
  place: Place,
  path: FieldPath,
  problem: string,
  code: FleetMistakeCode = 'fleet_invalid',
): FleetMistake {
  return {
    code,
    document: place.document,
    line: place.lineOf(path),
    field: fieldName(path),
    problem,
  };
}

/** `['ingress', 'secrets', 0, 'ref']` → `ingress.secrets[0].ref`. */
function fieldName(path: FieldPath): string {
  return path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join('');
}

/** The code that all of them share. */
function codeOf(mistakes: readonly FleetMistake[]): FleetMistakeCode {
  const [first, ...others] = new Set(mistakes.map(({ code }) => code));
  return first === undefined || others.length > 0 ? 'fleet_invalid' : first;
}

function describe(mistakes: readonly FleetMistake[]): string {
  const lines = mistakes.slice(0, LISTED).map(describeOne);
  if (mistakes.length > LISTED) lines.push(`… and ${mistakes.length - LISTED} more`);
  const count = mistakes.length === 1 ? '1 mistake' : `${mistakes.length} mistakes`;
  return [`${count} in the fleet file, nothing was applied:`, ...lines].join('\n  ');
}

function describeOne({ document, line, field, problem }: FleetMistake): string {
  const at = field === '' ? '' : `${field}: `;
  return `line ${line}, ${document}: ${at}${problem}`;
}
