/** `waybill receipt verify`: checks a delivery's chain of receipts with the public keys alone. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { JSONWebKeySet } from 'jose';
import { WaybillError } from '../../domain/errors';
import { KeySet } from '../../schemas/api-health';
import type { ReceiptProblem } from '../../signing/receipts/verify-chain';
import { apiBase } from '../support/api-access';
import { fetchKeySet } from '../support/api-client';
import { surroundings } from '../support/environment';
import { printJson, printLine } from '../support/output';
import { DeliveryDocument as DocumentShape } from './document';
import type { DeliveryDocument, DocumentProblem } from './document';

interface VerifyOptions {
  readonly jwks?: string;
  readonly json?: true;
}

export function addVerify(receipt: Command): void {
  receipt
    .command('verify')
    .description(
      'Check a chain of receipts offline: signatures, order, each link, and the document.',
    )
    .argument(
      '[file]',
      '`deliveries show --json`, or one compact JWS a line; - is standard input',
      '-',
    )
    .option(
      '--jwks <file or url>',
      'the public keys (default: those of the API at WAYBILL_API_URL or of a running `waybill up`)',
    )
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nExample:\n' +
        '  $ curl -s http://127.0.0.1:7380/.well-known/jwks.json > keys.json\n' +
        '  $ waybill deliveries show <delivery> --json > delivery.json\n' +
        '  $ waybill receipt verify delivery.json --jwks keys.json\n',
    )
    .action(verify);
}

async function verify(file: string, options: VerifyOptions): Promise<void> {
  const document = readDocument(await input(file, 'the receipts'));
  const receipts = document.receipts.map(({ jws }) => jws);
  const verdict = await judge(document, await publicKeys(options.jwks));
  if (options.json) printJson({ ...verdict, receipts: receipts.length });
  else for (const problem of verdict.problems) printLine(describe(problem));
  const count = receipts.length === 1 ? '1 receipt' : `${receipts.length} receipts`;
  if (!verdict.ok) {
    const found = verdict.problems.length;
    throw new WaybillError(
      'receipt_invalid',
      `${count}, ${found === 1 ? '1 problem' : `${found} problems`}: the chain does not verify`,
    );
  }
  if (!options.json) printLine(`ok: ${count}, one unbroken chain`);
}

async function judge(document: DeliveryDocument, keys: JSONWebKeySet) {
  const { verifyReceiptChain } = await import('../../signing/receipts/verify-chain.js');
  const { documentProblems } = await import('./document.js');
  try {
    const receipts = document.receipts.map(({ jws }) => jws);
    const chain = await verifyReceiptChain(receipts, keys);
    const problems = [...chain.problems, ...documentProblems(document)];
    return { ok: problems.length === 0, problems };
  } catch (error) {
    throw unreadable('the public keys', error);
  }
}

function describe({ index, code, detail }: ReceiptProblem | DocumentProblem): string {
  return `receipt ${index + 1}: ${detail} (${code})`;
}

function readDocument(content: string): DeliveryDocument {
  const trimmed = content.trim();
  if (!trimmed.startsWith('{')) {
    const lines = trimmed.split(/\s+/).filter((line) => line !== '');
    return { receipts: lines.map((jws) => ({ jws })) };
  }
  const delivery = DocumentShape.safeParse(parseJson(trimmed, 'the receipts'));
  if (delivery.success) return delivery.data;
  throw unreadable('the receipts', 'this is not what `deliveries show --json` prints');
}

async function publicKeys(from: string | undefined): Promise<JSONWebKeySet> {
  if (from === undefined || /^https?:\/\//.test(from)) {
    const url = from ?? `${apiBase({}, surroundings().running)}/.well-known/jwks.json`;
    return await fetchKeySet(url);
  }
  const keys = KeySet.safeParse(parseJson(await input(from, 'the public keys'), 'the public keys'));
  if (keys.success) return keys.data;
  throw unreadable('the public keys', `${from} is not a JSON Web Key Set`);
}

async function input(file: string, what: string): Promise<string> {
  try {
    return file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
  } catch (error) {
    throw unreadable(what, error);
  }
}

function parseJson(content: string, what: string): unknown {
  try {
    return JSON.parse(content);
  } catch (error) {
    throw unreadable(what, error);
  }
}

function unreadable(what: string, why: unknown): WaybillError {
  const reason = why instanceof Error ? why.message : String(why);
  return new WaybillError('receipt_invalid', `${what} cannot be read: ${reason}`, { cause: why });
}
