import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The compiled JavaScript of a child program of this folder, by file name without extension.
 *
 * Children run on plain Node, which cannot read TypeScript: from `dist` it is the neighbour of this
 * file; under jest, which runs the sources, it is the build's copy (`npm test` builds first).
 */
export function compiledPath(name: string): string {
  const neighbour = join(__dirname, `${name}.js`);
  if (existsSync(neighbour)) return neighbour;
  return join(__dirname, '..', '..', '..', 'dist', 'workers', 'embedded', `${name}.js`);
}
