/**
 * docs/errors.md has an example of each error code, as the command line prints it. Its text is the
 * catalogue's own sentence, or one that the sources make: no example outlives what it is of.
 */
import ts from 'typescript';
import { errorCatalogue, type ErrorCode } from '../../src/domain/errors';
import { nodesOf, read, syntaxOf, typescriptFiles } from './repository';

const [, block = ''] =
  /^## Examples$[\s\S]*?^```text\n([\s\S]*?)^```$/m.exec(read('docs/errors.md')) ?? [];
const examples = block
  .trimEnd()
  .split('\n')
  .map((line) => /^waybill: (?<text>.+) \((?<code>[a-z_]+)\)$/.exec(line)?.groups ?? { line });

const catalogued = Object.keys(errorCatalogue) as ErrorCode[];
/** Words that only the command line has. */
const commandWords = [...read('src/cli/support/failures.ts').matchAll(/^ {4}\| '([a-z_]+)'/gm)]
  .map(([, word = '']) => word)
  .filter((word) => !(word in errorCatalogue));

test('each code has one example, and each word of the command line', () => {
  expect(commandWords.length).toBeGreaterThan(5);
  expect(examples.map((one) => one['code'] ?? one).sort()).toEqual(
    [...catalogued, ...commandWords].sort(),
  );
});

test('each example says what the catalogue or the sources say', () => {
  const patterns = typescriptFiles('src')
    .filter((file) => file !== 'src/domain/errors.ts')
    .flatMap((file) => [...messagesOf(file)]);
  const stale = examples.filter(({ code = '', text = '' }) => {
    const own = catalogued.includes(code as ErrorCode) && errorCatalogue[code as ErrorCode].message;
    return text !== own && !patterns.some((pattern) => pattern.test(text));
  });
  expect(stale).toEqual([]);
});

test('each word of the command line is explained, and expected by a test', () => {
  const page = read('docs/errors.md').replace(block, '');
  const tests = typescriptFiles('test').filter((file) => !file.startsWith('test/house/'));
  const all = tests.map(read).join('\n');
  expect(commandWords.filter((word) => !page.includes(`\`${word}\``))).toEqual([]);
  expect(commandWords.filter((word) => !new RegExp(String.raw`\b${word}\b`).test(all))).toEqual([]);
});

/** Letters that a text has to have of its own to be known again. */
const LEAST = 10;

/** Texts of a file that can be a message: what is filled in may be anything. */
function* messagesOf(file: string): Generator<RegExp> {
  for (const node of nodesOf(syntaxOf(file))) {
    if (ts.isSourceFile(node)) continue;
    const isPart = ts.isBinaryExpression(node.parent) && isText(node);
    const pieces = isPart ? null : piecesOf(node);
    if (pieces === null || pieces.join('').replaceAll(/[^a-z]/gi, '').length < LEAST) continue;
    yield new RegExp(pieces.map(escaped).join('[^]*?'));
  }
}

function isText(node: ts.Node): boolean {
  return (
    ts.isStringLiteralLike(node) || ts.isTemplateExpression(node) || ts.isBinaryExpression(node)
  );
}

/** What a text consists of between what is filled in; null: it is none. */
function piecesOf(node: ts.Node): string[] | null {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node)) {
    return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)];
  }
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken)
    return null;
  const [left, right] = [piecesOf(node.left), piecesOf(node.right)];
  if (left === null || right === null) return null;
  return [...left.slice(0, -1), `${left.at(-1) ?? ''}${right[0] ?? ''}`, ...right.slice(1)];
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
