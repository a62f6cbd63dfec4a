/** What `waybill receipt verify` reads: receipts in one of three forms, and public keys. */
import { createReadStream } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { JSONWebKeySet } from 'jose';
import { WaybillError } from '../../domain/errors';
import { KeySet } from '../../schemas/api-health';
import { apiBase } from '../support/api-access';
import { fetchKeySet } from '../support/api-client';
import { surroundings } from '../support/environment';
import { ReceiptDocument } from './document';

export type ReceiptInput =
  | { readonly kind: 'document'; readonly document: ReceiptDocument }
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
    return { kind: 'document', document: readDocument(content.join('\n')) };
  } catch (error) {
    throw error instanceof WaybillError ? error : unreadable('the receipts', error);
  }
}

/** @param from a file, an address, or undefined: the API's */
export async function publicKeys(from: string | undefined): Promise<JSONWebKeySet> {
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

function readDocument(written: string): ReceiptDocument {
  const trimmed = written.trim();
  if (!trimmed.startsWith('{')) {
    const lines = trimmed.split(/\s+/).filter((line) => line !== '');
    return { receipts: lines.map((jws) => ({ jws })) };
  }
  const document = ReceiptDocument.safeParse(parseJson(trimmed, 'the receipts'));
  if (document.success) return document.data;
  const known = '`deliveries show --json`, `actions show --json` or `receipt export` print';
  throw unreadable('the receipts', `this is not what ${known}`);
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
