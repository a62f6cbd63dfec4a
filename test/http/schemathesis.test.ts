/**
 * Requests that a program makes up from the served OpenAPI document, right ones and wrong ones: none of
 * them is a fault of the server, and every answer is one that the document declares. Real: server, socket,
 * Postgres, schemathesis. The seed is fixed, so that a failure comes again.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SCOPES } from '../../src/http/scopes';
import { insertCatalog } from '../support/catalog-fixture';
import { pythonProgram } from '../support/python';
import { Harness } from './harness';

const BOUND_MS = 120_000;

/** Made up requests of each operation. */
const EXAMPLES = 8;

const CHECKS = [
  ...['not_a_server_error', 'status_code_conformance'],
  ...['content_type_conformance', 'response_schema_conformance'],
];

let h: Harness;
let program: string;
beforeAll(async () => {
  program = await pythonProgram('schemathesis');
  h = await Harness.start();
  await insertCatalog(h.db);
}, BOUND_MS);
afterAll(() => h.stop());

test(
  'no made-up request is answered by a fault, or by anything that is not in the document',
  async () => {
    const token = await h.token({ scopes: Object.keys(SCOPES) });
    const said = await run(program, [
      ...['run', `${h.url}/openapi.json`, '--url', h.url],
      ...['--header', `Authorization: Bearer ${token}`],
      ...['--checks', CHECKS.join(','), '--phases', 'examples,fuzzing'],
      // Hosts sign what they send.
      ...['--exclude-path-regex', '^/v1/hosts/'],
      ...['--max-examples', String(EXAMPLES), '--seed', '1', '--no-color'],
      ...['--request-timeout', '10', '--suppress-health-check', 'all'],
    ]);
    expect(said).toBe('');
  },
  BOUND_MS,
);

/** What it says where it finds something; empty where it finds nothing. */
async function run(program: string, args: readonly string[]): Promise<string> {
  // It keeps what it has found where it runs.
  const cwd = await mkdtemp(path.join(tmpdir(), 'waybill-schemathesis-'));
  const said = await new Promise<string>((done) => {
    const options = { timeout: BOUND_MS, maxBuffer: 16_777_216, cwd };
    execFile(program, args, options, (error, out, problems) => {
      done(error === null ? '' : `${out}${problems}`);
    });
  });
  await rm(cwd, { recursive: true });
  return said;
}
