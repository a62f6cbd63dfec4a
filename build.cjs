/**
 * Builds `dist`, unless it is what these sources and tools give: `npm ci` builds, and `npm test` and
 * `npm run bench` do so again only after an edit. By content, not by time: files that were removed and
 * branches that were changed count as well. What is half built is never `dist`.
 */
const { execFileSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const {
  existsSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} = require('node:fs');
const path = require('node:path');

const DIST = path.join(__dirname, 'dist');
const NEXT = path.join(__dirname, 'dist.next');
/** Says what a `dist` was built from. */
const STAMP = '.built-from';
/**
 * What decides the output, beside all of `src`; the lock file names the versions of the tools. Node's own
 * does not: each tool is told which language to write.
 */
const INPUTS = [
  'build.cjs',
  'client/openapi.d.ts',
  'package-lock.json',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.client.json',
];

const from = digest();
if (builtFrom() !== from) build(from);

function build(stamp) {
  rmSync(NEXT, { recursive: true, force: true });
  tsc('tsconfig.build.json');
  tsc('tsconfig.client.json');
  run(path.join(NEXT, 'workers', 'bundle-workflows.js'));
  writeFileSync(path.join(NEXT, STAMP), stamp);
  rmSync(DIST, { recursive: true, force: true });
  renameSync(NEXT, DIST);
}

function tsc(project) {
  run(require.resolve('typescript/bin/tsc'), '-p', project, '--outDir', NEXT);
}

function run(...args) {
  try {
    execFileSync(process.execPath, args, { cwd: __dirname, stdio: 'inherit' });
  } catch {
    // It has said itself what is wrong.
    process.exit(1);
  }
}

function builtFrom() {
  const stamp = path.join(DIST, STAMP);
  return existsSync(stamp) ? readFileSync(stamp, 'utf8') : undefined;
}

function digest() {
  const sources = readdirSync(path.join(__dirname, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(__dirname, path.join(entry.parentPath, entry.name)));
  const hash = createHash('sha256');
  for (const file of [...INPUTS, ...sources.sort()]) {
    const bytes = readFileSync(path.join(__dirname, file));
    hash.update(`${file}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest('hex');
}
