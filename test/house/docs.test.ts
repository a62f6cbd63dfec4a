/** The documents: all there, all linked, every link and every cited rule good. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { ROOT, projectFiles, read } from './repository';

const pages = projectFiles().filter((file) => file.endsWith('.md'));

const REQUIRED = [
  ...['architecture', 'glossary', 'operations', 'errors', 'security', 'webhook-schemes'],
  ...['host-protocol', 'performance', 'contributing'],
].map((name) => `docs/${name}.md`);

interface Link {
  readonly from: string;
  readonly target: string;
}

const links = pages.flatMap((from) =>
  [...withoutCode(read(from)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']): Link => ({
    from,
    target,
  })),
);
const ownLinks = links.filter(({ target }) => !/^[a-z]+:/.test(target));

test('every page that a reader expects is there', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', ...REQUIRED]));
});

test('the README leads to every page of docs', () => {
  const linked = ownLinks.filter(({ from }) => from === 'README.md').map(fileOf);
  const inFolder = pages.filter((page) => /^docs\/[^/]+\.md$/.test(page));
  expect(inFolder.filter((page) => !linked.includes(page))).toEqual([]);
});

test('every link leads to a file that is there, and every anchor to a heading', () => {
  const broken = ownLinks.filter((link) => {
    const file = fileOf(link);
    const [, anchor] = link.target.split('#');
    if (!existsSync(path.join(ROOT, file))) return true;
    return anchor !== undefined && !anchorsOf(read(file)).includes(anchor);
  });
  expect(broken).toEqual([]);
});

test('every test that a page names is there', () => {
  const named = pages.flatMap((page) =>
    [...read(page).matchAll(/`(test\/[^`*\s]+)`/g)].map(([, at = '']) => ({ page, at })),
  );
  expect(named.length).toBeGreaterThan(30);
  const missing = named.filter(({ at }) => !existsSync(path.join(ROOT, at)));
  expect(missing).toEqual([]);
});

test('links to other sites are https', () => {
  const foreign = links.filter(({ target }) => /^[a-z]+:/.test(target));
  expect(foreign.filter(({ target }) => !target.startsWith('https://'))).toEqual([]);
});

test('the records of decisions are numbered without a gap and listed', () => {
  const records = pages.filter((page) => /^docs\/decisions\/\d{4}-[a-z0-9-]+\.md$/.test(page));
  expect(records.length).toBeGreaterThan(0);
  const expected = records.map((_, index) => String(index + 1).padStart(4, '0'));
  expect(records.map((page) => path.basename(page).slice(0, 4))).toEqual(expected);
  const listed = ownLinks.filter(({ from }) => from === 'docs/decisions/README.md').map(fileOf);
  expect([...listed].sort()).toEqual(records);
});

test('the code cites rules that docs/architecture.md has, by the names of its headings', () => {
  const headings = headingsOf(read('docs/architecture.md'));
  const sources = projectFiles('src', 'test', 'bench', 'migrations').filter(
    (file) => /\.(ts|sql)$/.test(file) && file !== 'test/house/docs.test.ts',
  );
  const wrong = sources.flatMap((file) =>
    citationsIn(read(file))
      .filter((cited) => !headings.some((heading) => `"${heading}"` === cited))
      .map((cited) => `${file}: ${cited}`),
  );
  expect(wrong).toEqual([]);
});

test('docs/architecture.md names every module', () => {
  const modules = projectFiles('src').map((file) => /^src\/([a-z]+)\//.exec(file)?.[1] ?? 'points');
  const page = read('docs/architecture.md');
  expect([...new Set(modules)].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

function fileOf({ from, target }: Link): string {
  const [file = ''] = target.split('#');
  return file === '' ? from : path.posix.join(path.posix.dirname(from), file);
}

/** Blocks and spans of code hold no links. */
function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '');
}

function headingsOf(markdown: string): string[] {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/^#{1,6} (.+)$/gm)].map(([, text = '']) => text.trim());
}

/** As GitHub makes them: lower case, blanks to hyphens, everything else dropped. */
function anchorsOf(markdown: string): string[] {
  return headingsOf(markdown).map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-'),
  );
}

/** What follows `docs/architecture,` in a comment, also over a line's end. */
function citationsIn(text: string): string[] {
  const joined = text.replaceAll(/\n\s*(\*|--|\/\/) ?/g, ' ');
  return [...joined.matchAll(/docs\/architecture(?:\.md)?, ("[^"]*"|\S+)/g)].map(
    ([, cited = '']) => cited,
  );
}
