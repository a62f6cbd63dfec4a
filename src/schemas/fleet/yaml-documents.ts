/** Splits a fleet file into its YAML documents and remembers on which line each field stands. */
import { isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml';
import type { Document, Node, Range } from 'yaml';
import { WaybillError } from '../../domain/errors';
import type { FieldPath } from './mistakes';

/** Larger files are refused before they are parsed. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
const MAX_ALIASES = 100;
/** Most faults of the YAML itself that one message lists. */
const LISTED = 10;

export interface YamlDocument {
  /** Position in the file, from 1; empty documents count. */
  readonly number: number;
  readonly written: unknown;
  readonly lineOf: (path: FieldPath) => number;
}

/**
 * The non-empty documents of a file, as plain values.
 * @throws WaybillError `fleet_unreadable` naming the lines, when the text is not YAML
 */
export function parseYamlDocuments(text: string): YamlDocument[] {
  if (text.length > MAX_CHARACTERS) {
    throw new WaybillError('fleet_unreadable', 'the fleet file is larger than 4 MiB');
  }
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
  });
  if (!Array.isArray(documents)) return [];
  const faults = documents.flatMap(({ errors, warnings }) =>
    [...errors, ...warnings].map(
      ({ pos, message }) => `line ${lines.linePos(pos[0]).line}: ${message}`,
    ),
  );
  if (faults.length > 0) throw unreadable(faults);
  return documents
    .map((document, index) => readDocument(document, index + 1, lines))
    .filter(({ written }) => written !== null);
}

function readDocument(document: Document.Parsed, number: number, lines: LineCounter): YamlDocument {
  const lineAt = (range: Range | null | undefined) => lines.linePos(range?.[0] ?? 0).line;
  return {
    number,
    written: toPlain(document, number),
    lineOf: (path) => lineAt(rangeOf(document, path)),
  };
}

function toPlain(document: Document.Parsed, number: number): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw unreadable([`document ${number}: ${reason}`]);
  }
}

/** The place of the deepest node on the path that is there: its key in a map, else itself. */
function rangeOf(document: Document.Parsed, path: FieldPath): Range | null | undefined {
  let node: Node | null = document.contents;
  let range = node?.range;
  for (const step of path) {
    const next = stepInto(node, step);
    if (next === null) break;
    range = next.range ?? range;
    node = next.value;
  }
  return range;
}

interface Step {
  readonly range: Range | null | undefined;
  readonly value: Node | null;
}

function stepInto(node: Node | null, step: string | number): Step | null {
  if (isMap<Node, Node | null>(node)) {
    const pair = node.items.find(({ key }) => isScalar(key) && key.value === String(step));
    return pair === undefined ? null : { range: pair.key.range, value: pair.value };
  }
  if (isSeq<Node>(node) && typeof step === 'number') {
    const item = node.items[step];
    return item === undefined ? null : { range: item.range, value: item };
  }
  return null;
}

function unreadable(faults: readonly string[]): WaybillError {
  const listed = faults.slice(0, LISTED).join('\n  ');
  return new WaybillError('fleet_unreadable', `the fleet file is not valid YAML:\n  ${listed}`);
}
