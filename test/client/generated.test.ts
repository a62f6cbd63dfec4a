/** client/openapi.d.ts is what openapi-typescript makes of docs/openapi.json. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.join(__dirname, '../..');
const FILE = path.join(ROOT, 'client/openapi.d.ts');

test('the types of the client are those of the document (UPDATE_SNAPSHOT=1 writes them)', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'waybill-client-'));
  const made = path.join(folder, 'openapi.d.ts');
  const program = path.join(ROOT, 'node_modules/.bin/openapi-typescript');
  execFileSync(program, ['docs/openapi.json', '--output', made], { cwd: ROOT, stdio: 'ignore' });
  const types = readFileSync(made, 'utf8');
  rmSync(folder, { recursive: true });
  if (process.env['UPDATE_SNAPSHOT'] === '1') writeFileSync(FILE, types);
  expect(types === readFileSync(FILE, 'utf8')).toBe(true);
});
