/** What no source file uses: the untyped, the switched off, the left out. */
import ts from 'typescript';
import { findings, nodesOf, placeOf, read, syntaxOf, typescriptFiles } from './repository';

const everywhere = typescriptFiles('src', 'test', 'bench');
const own = 'test/house/language.test.ts';

test('nothing is typed any', () => {
  const found = everywhere.flatMap((file) => {
    const source = syntaxOf(file);
    return [...nodesOf(source)]
      .filter((node) => node.kind === ts.SyntaxKind.AnyKeyword)
      .map((node) => placeOf(file, read(file), node.getStart(source)));
  });
  expect(found).toEqual([]);
});

test('no comment switches a check off', () => {
  const others = everywhere.filter((file) => file !== own);
  const pattern = /@ts-(ignore|nocheck|expect-error)|eslint-(disable|enable)|prettier-ignore/g;
  expect(findings(others, pattern)).toEqual([]);
});

test('every test runs', () => {
  const calls =
    /\b(describe|test|it)(\.each)?\.(skip|only|failing|todo)\b|\b[fx](describe|test|it)\(/g;
  expect(
    findings(
      typescriptFiles('test').filter((file) => file !== own),
      calls,
    ),
  ).toEqual([]);
});
