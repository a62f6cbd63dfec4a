/** The project's own files, for tests about them: what a clone holds, without what is ignored. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

export const ROOT = path.join(__dirname, '..', '..');

/** Paths below the root with `/`, sorted; at most those below the given folders. */
export function projectFiles(...folders: readonly string[]): string[] {
  const all = filesBelow('', ignoredNames());
  if (folders.length === 0) return all;
  return all.filter((file) => folders.some((folder) => file.startsWith(`${folder}/`)));
}

/** The TypeScript files below these folders. */
export function typescriptFiles(...folders: readonly string[]): string[] {
  return projectFiles(...folders).filter((file) => file.endsWith('.ts'));
}

export function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** A file's syntax tree, with parents; nothing is resolved. */
export function syntaxOf(file: string): ts.SourceFile {
  return ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
}

/** Every node of a tree, a parent before its children. */
export function* nodesOf(node: ts.Node): Generator<ts.Node> {
  yield node;
  const children: ts.Node[] = [];
  node.forEachChild((child) => {
    children.push(child);
  });
  for (const child of children) yield* nodesOf(child);
}

/** `file:line` of a place in a text. */
export function placeOf(file: string, text: string, offset: number): string {
  return `${file}:${String(text.slice(0, offset).split('\n').length)}`;
}

/** Every match of a pattern over files, as `file:line text`. */
export function findings(files: readonly string[], pattern: RegExp): string[] {
  return files.flatMap((file) => {
    const text = read(file);
    return [...text.matchAll(pattern)].map(
      (match) => `${placeOf(file, text, match.index)} ${match[0]}`,
    );
  });
}

/** Whether a path is ignored, by the plain patterns that .gitignore uses. */
function ignoredNames(): (file: string) => boolean {
  const patterns = read('.gitignore')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  return (file) =>
    file === '.git' ||
    patterns.some((pattern) => {
      const plain = pattern.replaceAll(/^\/|\/$/g, '');
      if (pattern.startsWith('/')) return file === plain;
      if (plain.startsWith('*')) return file.endsWith(plain.slice(1));
      return path.posix.basename(file) === plain;
    });
}

function filesBelow(folder: string, isIgnored: (file: string) => boolean): string[] {
  return readdirSync(path.join(ROOT, folder), { withFileTypes: true })
    .map((entry) => ({ entry, file: path.posix.join(folder, entry.name) }))
    .filter(({ file }) => !isIgnored(file))
    .flatMap(({ entry, file }) => (entry.isDirectory() ? filesBelow(file, isIgnored) : [file]))
    .sort();
}
