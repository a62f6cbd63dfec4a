/** Splits a fleet file into its YAML documents and remembers on which line each field stands. */
import { Composer, isMap, isScalar, isSeq, LineCounter, Parser } from 'yaml';
import type { CST, Document, Node, Range } from 'yaml';
import { WaybillError } from '../../domain/errors';
import { MAX_NESTING } from '../nesting';
import type { FieldPath } from './mistakes';

/** Larger files are refused before they are parsed. A fleet of 100,000 replicas is half of it. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
const MAX_ALIASES = 100;
/** Around the JSON that a fleet takes, which is bounded itself. */
const MAX_LEVELS = MAX_NESTING + 20;
/** Most faults of the YAML itself that one message lists. */
const LISTED = 10;

export interface YamlDocument {
  /** Position in the file, from 1; empty documents count, and so does each of a list, as JSON has them. */
  readonly number: number;
  readonly written: unknown;
  readonly lineOf: (path: FieldPath) => number;
}

/** Where a document stands in the text of its file. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * The non-empty documents of a file, as plain values.
 * @throws WaybillError `fleet_unreadable` naming the lines, when the text is not YAML
 */
export function parseYamlDocuments(text: string): YamlDocument[] {
  if (text.length > MAX_CHARACTERS) {
    throw new WaybillError('fleet_unreadable', 'the fleet file is larger than 64 MiB');
  }
  const lines = new LineCounter();
  const find = finder(text);
  const documents: YamlDocument[] = [];
  const faults: string[] = [];
  let start = 0;
  let number = 0;
  for (const document of composed(text, lines)) {
    number += 1;
    const span = { start, end: document.range[2] };
    start = span.end;
    for (const { pos, message } of [...document.errors, ...document.warnings]) {
      faults.push(`line ${lines.linePos(pos[0]).line}: ${message}`);
    }
    const written = faults.length === 0 ? toPlain(document, number) : null;
    if (written === null) continue;
    const lineOf = (path: FieldPath) => lines.linePos(span.start + find(span, path)).line;
    if (!Array.isArray(written)) documents.push({ number, written, lineOf });
    else {
      const items: readonly unknown[] = written;
      documents.push(
        ...items.map((item, index) => ({
          ...{ number: number + index, written: item },
          lineOf: (path: FieldPath) => lineOf([index, ...path]),
        })),
      );
      number += Math.max(0, items.length - 1);
    }
  }
  if (faults.length > 0) throw unreadable(faults);
  return documents;
}

/** One document after another: the nodes of all of them at once would be many times their text. */
function composed(text: string, lines?: LineCounter): Generator<Document.Parsed, void> {
  const composer = new Composer({ prettyErrors: false, stringKeys: true });
  return composer.compose(shallow(new Parser(lines?.addNewLine).parse(text)));
}

/**
 * The tokens, as long as none is nested so deep that composing it could run out of stack, which ends the
 * process.
 * @throws WaybillError `fleet_unreadable`
 */
function* shallow(tokens: Iterable<CST.Token>): Generator<CST.Token, void> {
  for (const token of tokens) {
    let level: object[] = [token];
    for (let depth = 0; level.length > 0; depth += 1) {
      if (depth > MAX_LEVELS) {
        const reason = `the fleet file has more than ${MAX_LEVELS} levels of lists and maps`;
        throw new WaybillError('fleet_unreadable', reason);
      }
      level = level.flatMap(within);
    }
    yield token;
  }
}

/** What a token holds: a document its value, a list or map what its items have as keys and values. */
function within(token: object): object[] {
  const held: unknown[] = [];
  if ('value' in token) held.push(token.value);
  if ('items' in token && Array.isArray(token.items)) {
    for (const item of token.items as readonly { key?: unknown; value?: unknown }[]) {
      held.push(item.key, item.value);
    }
  }
  return held.filter((inner) => typeof inner === 'object' && inner !== null);
}

/** Answers at which character of a document a field stands; the document is read again for that. */
function finder(text: string): (span: Span, path: FieldPath) => number {
  let last: { readonly at: Span; readonly document: Document.Parsed | undefined } | undefined;
  return (span, path) => {
    if (last?.at !== span) {
      const [document] = composed(text.slice(span.start, span.end));
      last = { at: span, document };
    }
    return (last.document && rangeOf(last.document, path)?.[0]) ?? 0;
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
