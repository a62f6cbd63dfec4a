/** What `waybill receipt verify` reads: what is signed, in one of its forms, and public keys. */
import { createReadStream } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { decodeProtectedHeader, type JSONWebKeySet } from 'jose';
import { WaybillError } from '../../domain/errors';
import { KeySet } from '../../schemas/api-health';
import { apiBase } from '../support/api-access';
import { fetchKeySet } from '../support/api-client';
import { surroundings } from '../support/environment';
import { bulkReplayStatementType } from '../../signing/bulk-replay-statement';
import { ReceiptDocument } from './document';
import { ReplayDocument } from './replay-document';

export type ReceiptInput =
  | { readonly kind: 'document'; readonly document: ReceiptDocument }
  | { readonly kind: 'replay'; readonly document: ReplayDocument }
  /** An export, line by line: it may be larger than memory. */
  | { readonly kind: 'export'; readonly lines: AsyncIterable<string> };

/** Each line of an export begins with one of its keys; a document does not. */
const EXPORT = /^\s*\{"(checkpoint|chain|heads|statement)"/;

/** @throws WaybillError `receipt_invalid` where the file is none of what is known */
export async function readReceipts(file: string): Promise<ReceiptInput> {
  try {
    const input = file === '-' ? process.stdin : await opened(file);
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
    const reading = lines[Symbol.asyncIterator]();
    const first = await reading.next();
    const start = first.done === true ? '' : first.value;
    if (EXPORT.test(start)) return { kind: 'export', lines: from(start, reading) };
    const content: string[] = [];
    for await (const line of from(start, reading)) content.push(line);
    return readDocument(content.join('\n'));
  } catch (error) {
    throw error instanceof WaybillError ? error : unreadable('the receipts', error);
  }
}

/**
 * What was signed before a change of the key needs the key set of that time, too.
 * @param from files and addresses; none: the API's
 */
export async function publicKeys(from: readonly string[]): Promise<JSONWebKeySet> {
  const sets: JSONWebKeySet[] = [];
  for (const one of from.length === 0 ? [undefined] : from) sets.push(await keySet(one));
  // One key may stand in several sets.
  const keys = new Map(sets.flatMap((set) => set.keys).map((key) => [JSON.stringify(key), key]));
  return { keys: [...keys.values()] };
}

async function keySet(from: string | undefined): Promise<JSONWebKeySet> {
  if (from === undefined || /^https?:\/\//.test(from)) {
    const url = from ?? `${apiBase({}, surroundings().running)}/.well-known/jwks.json`;
    return await fetchKeySet(url);
  }
  const keys = KeySet.safeParse(parseJson(await content(from), 'the public keys'));
  if (keys.success) return keys.data;
  throw unreadable('the public keys', `${from} is not a JSON Web Key Set`);
}

export function unreadable(what: string, why: unknown): WaybillError {
  const reason = why instanceof Error ? why.message : String(why);
  return new WaybillError('receipt_invalid', `${what} cannot be read: ${reason}`, { cause: why });
}

/** A file that is not there is told before anything is read. */
async function opened(file: string) {
  await (await open(file, 'r')).close();
  return createReadStream(file, 'utf8');
}

async function* from(start: string, rest: AsyncIterator<string>): AsyncGenerator<string> {
  yield start;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

function readDocument(written: string): ReceiptInput {
  const trimmed = written.trim();
  if (!trimmed.startsWith('{')) {
    const lines = trimmed.split(/\s+/).filter((line) => line !== '');
    const [only = ''] = lines;
    if (lines.length === 1 && isReplayStatement(only)) {
      return { kind: 'replay', document: { receipt: only } };
    }
    return { kind: 'document', document: { receipts: lines.map((jws) => ({ jws })) } };
  }
  const json = parseJson(trimmed, 'the receipts');
  const document = ReceiptDocument.safeParse(json);
  if (document.success) return { kind: 'document', document: document.data };
  const replay = ReplayDocument.safeParse(json);
  if (replay.success) return { kind: 'replay', document: replay.data };
  const known =
    '`deliveries show --json`, `actions show --json`, `replay show --json` or `receipt export` print';
  throw unreadable('the receipts', `this is not what ${known}`);
}

/** As its header says, unchecked. */
function isReplayStatement(jws: string): boolean {
  try {
    return decodeProtectedHeader(jws).typ === bulkReplayStatementType;
  } catch {
    return false;
  }
}

async function content(file: string): Promise<string> {
  try {
    return file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
  } catch (error) {
    throw unreadable('the public keys', error);
  }
}

function parseJson(written: string, what: string): unknown {
  try {
    return JSON.parse(written);
  } catch (error) {
    throw unreadable(what, error);
  }
}
