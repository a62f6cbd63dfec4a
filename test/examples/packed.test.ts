/**
 * The package as an author's project has it: packed by npm, and used from a folder outside this clone.
 * Real: what is packed, the compiler, the processes. In place of an installation its dependencies are those
 * of this clone.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { readFleet } from '../../src/schemas/fleet';
import { HostManifestSchema } from '../../src/schemas/host-messages';
import { Folder } from '../hosts/support/fixtures';

const ROOT = path.join(__dirname, '..', '..');
const INSTALLED = path.join(ROOT, 'node_modules');
const run = promisify(execFile);

const project = new Folder();
const waybill = project.file('node_modules/waybill');
beforeAll(async () => {
  const packed = await run(
    'npm',
    ['pack', '--ignore-scripts', '--json', '--pack-destination', project.path],
    { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 },
  );
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }];
  mkdirSync(waybill, { recursive: true });
  await run('tar', ['-xzf', project.file(filename), '-C', waybill, '--strip-components=1']);
  symlinkSync(INSTALLED, path.join(waybill, 'node_modules'));
  for (const name of ['zod', 'typescript', '@types']) {
    symlinkSync(path.join(INSTALLED, name), project.file(`node_modules/${name}`));
  }
  const example = path.join(waybill, 'examples', 'typescript-connector');
  cpSync(example, project.path, { recursive: true });
}, 120_000);
afterAll(() => {
  project.remove();
});

const node = (...args: string[]) => run(process.execPath, args, { cwd: project.path });

test("the example and its test compile there, all of the package's types checked, and pass", async () => {
  // The client, too, which the example does not need.
  const client =
    "import { createWaybillClient } from 'waybill/client';\nvoid createWaybillClient;\n";
  writeFileSync(project.file('client.ts'), client);
  const tsconfig = {
    extends: './tsconfig.json',
    files: ['main.ts', 'connector.test.ts', 'client.ts'],
  };
  const strict = { skipLibCheck: false, exactOptionalPropertyTypes: true };
  writeFileSync(
    project.file('strict.json'),
    JSON.stringify({ ...tsconfig, compilerOptions: strict }),
  );
  const compiled = await node('node_modules/typescript/bin/tsc', '-p', 'strict.json').catch(
    (error: unknown) => error as { stdout: string },
  );
  expect(compiled.stdout).toBe('');
  const tested = await node('--test', 'dist/');
  expect(tested.stdout).toMatch(/^# pass 1$/m);
  await node('dist/client.js');
}, 120_000);

test('the fleet file of its page publishes what the example shows', async () => {
  const page = readFileSync(path.join(waybill, 'docs', 'writing-a-connector.md'), 'utf8');
  const blocks = [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
  const filledIn = blocks
    .join('---\n')
    .replaceAll(/: [0-9a-f]{4}…$/gm, `: '${'a'.repeat(64)}'`)
    .replace('did:key:z6Mk…', 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK');
  const published = readFleet(filledIn, new Map()).capabilities.map(({ thing }) => {
    const { id, interface: interfaceName, timeout, kind, ...contract } = thing;
    expect(kind).toBe('Capability');
    return { capabilityId: id, interfaceName, timeoutMs: timeout, ...contract };
  });
  const shown: unknown = JSON.parse((await node('dist/main.js', '--manifest')).stdout);
  expect(HostManifestSchema.parse(shown).capabilities).toEqual(published);
});

test('modules of either kind find what the package offers', async () => {
  const names = {
    'waybill/host-kit': ['capability', 'runConnector', 'RateLimited', 'createHost', 'sqliteStore'],
    'waybill/host-kit/testing': ['TestWaybill'],
    'waybill/client': ['createWaybillClient', 'WaybillProblem', 'answerOf', 'runAction'],
  };
  const lines = Object.entries(names).map(
    ([entry, all]) => `import { ${all.join(', ')} } from '${entry}';`,
  );
  writeFileSync(project.file('all.mjs'), lines.join('\n'));
  await node('all.mjs');
});

test('it brings the program, with what that reads from its folder', async () => {
  const { bin } = (await import(path.join(waybill, 'package.json'))) as {
    bin: { waybill: string };
  };
  const program = path.join(waybill, bin.waybill);
  expect((await node(program, '--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect((await node(program, 'scheme', 'list')).stdout).toContain('github');
  const key = await node(program, 'host', '--new-key', 'notes-1.jwk');
  expect(key.stdout).toMatch(/^did:key:z6Mk\w+\n$/);
});
