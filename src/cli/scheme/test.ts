/** `waybill scheme test`: runs files of test vectors. */
import type { Command } from 'commander';
import type { VectorCase } from '../../signing/webhooks/vectors';
import { printJson, printLine, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

const MISMATCH_EXIT = 1;

interface TestOptions {
  readonly json?: true;
}

export function addTest(scheme: Command): void {
  scheme
    .command('test')
    .description('Run vectors: requests of vendors, and whether each must be accepted.')
    .argument('<file...>', 'files of vectors (JSON), with or without schemes of their own')
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nExit code: 0 when each vector ends as it says, 1 when one does not.\n' +
        '\nExample:\n  $ waybill scheme test vectors.json\n',
    )
    .action(test);
}

async function test(files: readonly string[], options: TestOptions): Promise<void> {
  const { runVectors } = await import('../../signing/webhooks/vectors.js');
  const { loadShippedSchemes } = await import('../../schemas/shipped-schemes.js');
  const shipped = loadShippedSchemes();
  const cases: VectorCase[] = [];
  for (const file of files) {
    for (const vendor of await readVectors(file))
      cases.push(...(await runVectors(vendor, shipped)));
  }
  const failed = cases.filter(({ expected, actual }) => expected !== actual).length;
  const passed = cases.length - failed;
  if (options.json) printJson({ passed, failed, cases });
  else {
    if (cases.length > 0) printLine(`${renderTable(COLUMNS, cases, terminalWidth())}\n`);
    printLine(`${passed} passed, ${failed} failed`);
  }
  if (failed > 0) process.exitCode = MISMATCH_EXIT;
}

async function readVectors(file: string) {
  const { VectorFile } = await import('../../schemas/webhook-vectors.js');
  const { inputText, unreadable } = await import('./named.js');
  const text = await inputText(file);
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw unreadable(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const parsed = VectorFile.safeParse(content);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw unreadable(
    `${file} is no file of vectors: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`,
  );
}

const COLUMNS: readonly Column<VectorCase>[] = [
  { title: 'vendor', value: ({ vendor }) => vendor },
  { title: 'vector', value: ({ name }) => name, wraps: true },
  { title: 'expected', value: ({ expected }) => expected },
  { title: 'actual', value: ({ actual }) => actual },
  { title: 'reason', value: ({ reason }) => reason ?? '-', optional: 1 },
  { title: '', value: ({ expected, actual }) => (expected === actual ? 'ok' : 'MISMATCH') },
];
