/** `waybill receipt verify`: checks receipts with the public keys alone. */
import type { Command } from 'commander';
import type { JSONWebKeySet } from 'jose';
import { WaybillError } from '../../domain/errors';
import type { ExportProblem } from '../../signing/receipts/export-problems';
import type { ReceiptProblem } from '../../signing/receipts/verify-chain';
import { printJson, printLine } from '../support/output';
import type { DocumentProblem, ReceiptDocument } from './document';
import { publicKeys, readReceipts, unreadable } from './inputs';
import type { ReplayDocument } from './replay-document';

interface VerifyOptions {
  readonly jwks: readonly string[];
  readonly json?: true;
}

export function addVerify(receipt: Command): void {
  receipt
    .command('verify')
    .description(
      'Check receipts offline: signatures, order, each link, what is missing, and the document.',
    )
    .argument(
      '[file]',
      '`deliveries show --json`, `actions show --json`, `replay show --json`, `receipt export`, or one ' +
        'compact JWS a line; - is standard input',
      '-',
    )
    .option(
      '--jwks <file or url>',
      'the public keys; again for those of before a change of the key (default: those of the API at ' +
        'WAYBILL_API_URL or of a running `waybill up`)',
      (one: string, before: readonly string[]) => [...before, one],
      [],
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
  const input = await readReceipts(file);
  const keys = await publicKeys(options.jwks);
  switch (input.kind) {
    case 'export':
      await verifyLines(input.lines, keys, options);
      return;
    case 'replay':
      await verifyReplayPage(input.document, keys, options);
      return;
    case 'document':
      await verifyDocument(input.document, keys, options);
  }
}

async function verifyReplayPage(
  document: ReplayDocument,
  keys: JSONWebKeySet,
  options: VerifyOptions,
): Promise<void> {
  const { verifyReplay } = await import('./replay-document.js');
  const verdict = await verifyReplay(document, keys).catch((error: unknown) => {
    throw unreadable('the public keys', error);
  });
  const { ok, problems, statement } = verdict;
  if (options.json) printJson(verdict);
  else for (const { detail, code } of problems) printLine(`bulk replay: ${detail} (${code})`);
  if (!ok) fail(`${counted(problems.length, 'problem')}: the bulk replay`);
  if (options.json || statement === null) return;
  const { subject, tenant, state, counts } = statement;
  const { planned, acknowledged } = counts;
  const came = `${planned} planned, ${acknowledged} acknowledged`;
  printLine(`ok: ${subject} of tenant ${tenant} is ${state}, ${came}`);
}

async function verifyDocument(
  document: ReceiptDocument,
  keys: JSONWebKeySet,
  options: VerifyOptions,
): Promise<void> {
  const verdict = await judge(document, keys);
  const { length } = document.receipts;
  if (options.json) printJson({ ...verdict, receipts: length });
  else for (const problem of verdict.problems) printLine(describe(problem));
  const count = counted(length, 'receipt');
  if (!verdict.ok) fail(`${count}, ${counted(verdict.problems.length, 'problem')}: the chain`);
  if (!options.json) printLine(`ok: ${count}, one unbroken chain`);
}

async function verifyLines(
  lines: AsyncIterable<string>,
  keys: JSONWebKeySet,
  options: VerifyOptions,
): Promise<void> {
  const { verifyExport } = await import('../../signing/receipts/verify-export.js');
  const verdict = await verifyExport(lines, keys).catch((error: unknown) => {
    throw unreadable('the public keys', error);
  });
  if (options.json) printJson(verdict);
  else for (const problem of verdict.problems) printLine(describeLine(problem));
  const { chains, receipts, checkpoints, problems, tenant } = verdict;
  const count =
    `${counted(chains, 'chain')}, ${counted(receipts, 'receipt')}, ` +
    counted(checkpoints, 'checkpoint');
  const found = `${counted(problems.length, 'problem')}${verdict.more ? ' and more' : ''}`;
  if (!verdict.ok) fail(`${count}, ${found}: the export`);
  if (!options.json) printLine(`ok: ${count} of tenant ${tenant ?? ''}, nothing is missing`);
}

async function judge(document: ReceiptDocument, keys: JSONWebKeySet) {
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

function describeLine({ line, subject, seq, checkpoint, code, detail }: ExportProblem): string {
  const place =
    subject !== null
      ? `${subject}${seq === null ? '' : `, receipt ${seq}`}`
      : checkpoint !== null
        ? `checkpoint ${checkpoint}`
        : `line ${line}`;
  return `${place}: ${detail} (${code})`;
}

function fail(what: string): never {
  throw new WaybillError('receipt_invalid', `${what} does not verify`);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
