/** Small files and small functions, without exemptions. */
import ts from 'typescript';
import { nodesOf, read, syntaxOf, typescriptFiles } from './repository';

const FILE_LINES = 300;
const FUNCTION_LINES = 60;

test(`no source file is longer than ${FILE_LINES} lines`, () => {
  const long = typescriptFiles('src', 'test', 'bench')
    .map((file) => ({ file, lines: read(file).trimEnd().split('\n').length }))
    .filter(({ lines }) => lines > FILE_LINES);
  expect(long).toEqual([]);
});

test(`no function of the product is longer than ${FUNCTION_LINES} lines`, () => {
  const long = typescriptFiles('src').flatMap((file) => {
    const source = syntaxOf(file);
    return [...nodesOf(source)]
      .filter((node) => ts.isFunctionLike(node))
      .map((node) => ({ at: startLine(source, node), lines: lengthOf(source, node) }))
      .filter(({ lines }) => lines > FUNCTION_LINES)
      .map(({ at, lines }) => `${file}:${at} has ${lines} lines`);
  });
  expect(long).toEqual([]);
});

/** From the signature to the closing brace; the comment before it does not count. */
function lengthOf(source: ts.SourceFile, node: ts.Node): number {
  const end = source.getLineAndCharacterOfPosition(node.getEnd()).line + 1;
  return end - startLine(source, node) + 1;
}

function startLine(source: ts.SourceFile, node: ts.Node): number {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}
