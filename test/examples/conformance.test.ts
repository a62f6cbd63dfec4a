/**
 * The example connectors under the conformance suite, as an author runs it: real processes that register
 * with it. Verdict: the suite's own.
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { freePort } from '../../src/workers/embedded/ports';
import { IDENTITY } from '../hosts/support/fixtures';
import { ExampleHost, PYTHON, TYPESCRIPT } from './support/example-connectors';

const ROOT = path.join(__dirname, '..', '..');
const WITHIN_MS = 120_000;
const Report = z.object({
  cases: z.array(z.object({ id: z.string(), verdict: z.string(), why: z.string().nullable() })),
});

test.each([
  {
    ...{ example: TYPESCRIPT, folder: 'typescript-connector' },
    // It offers one capability, and no slow one.
    without: ['fences/cancel-running', 'fences/other-capability'],
  },
  { example: PYTHON, folder: 'python-connector', without: [] },
])(
  '$example.language: every case that it has something for passes',
  async ({ example, folder, without }) => {
    const host = await ExampleHost.describe(example, IDENTITY);
    // Built, and its environment made, before the suite waits for it.
    await example.command(host.folder, 0);
    const [port, listen] = [await freePort(), `127.0.0.1:${String(await freePort())}`];
    const report = conformance([
      ...['--endpoint', `http://127.0.0.1:${String(port)}`, '--listen', listen],
      ...['--tenant', IDENTITY.tenantId, '--instance', IDENTITY.instanceId],
      ...['--credential', IDENTITY.credentialRevisions[0] ?? '', '--json'],
      ...['--cases', path.join(ROOT, 'examples', folder, 'cases.json')],
    ]);
    try {
      await host.start({ lifecycle: `http://${listen}` }, { port });
      const { cases } = await report;
      const missed = cases.filter(({ verdict }) => verdict !== 'passed');
      expect(missed.map(({ id, verdict }) => `${verdict} ${id}`).sort()).toEqual(
        [...without, 'lifecycle/drain'].map((id) => `skipped ${id}`).sort(),
      );
      expect(cases.length).toBeGreaterThan(40);
    } finally {
      await host.remove();
    }
  },
  WITHIN_MS,
);

interface Said {
  readonly stdout: string;
  readonly stderr: string;
}

async function conformance(args: readonly string[]): Promise<z.infer<typeof Report>> {
  const program = [path.join(ROOT, 'bin', 'waybill.js'), 'conformance', ...args];
  const run = promisify(execFile)(process.execPath, program, { maxBuffer: 16 * 1024 * 1024 });
  const { stdout, stderr } = await run.catch((error: unknown) => error as Said);
  if (stdout === '') throw new Error(`the suite did not run: ${stderr}`);
  return Report.parse(JSON.parse(stdout));
}
