/** The workflow bundle of the build, which `npm test` makes before the tests run. */
import { existsSync } from 'node:fs';
import path from 'node:path';

export function workflowBundle(): string {
  const bundle = path.join(__dirname, '..', '..', 'dist', 'workflow-bundle.js');
  if (!existsSync(bundle)) throw new Error('run `npm run build` before the tests');
  return bundle;
}
