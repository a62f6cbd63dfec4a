/** What was qualified, and where: the source, the build, and the machine. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { digestsOf, sha256 } from './folder';

/** The project, seen from the compiled file. */
export const ROOT = path.join(__dirname, '..', '..', '..');

export const Source = z.object({
  package: z.object({ name: z.string(), version: z.string() }),
  /** Null where the project is no clone. */
  git: z
    .object({
      commit: z.string().regex(/^[0-9a-f]{40,64}$/),
      /** Paths that differ from the commit; none: it is clean. */
      changed: z.array(z.string()),
    })
    .nullable(),
  /** SHA-256 over the paths and digests of what ran. */
  build: z.object({ dist: z.string(), migrations: z.string(), lockFile: z.string().nullable() }),
});
export type Source = z.infer<typeof Source>;

const Package = z.object({ name: z.string(), version: z.string() });

export function sourceIdentity(): Source {
  const lockFile = path.join(ROOT, 'package-lock.json');
  const { name, version } = Package.parse(
    JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')),
  );
  return {
    package: { name, version },
    git: gitIdentity(),
    build: {
      dist: buildDigest(),
      migrations: treeDigest('migrations'),
      lockFile: existsSync(lockFile) ? sha256(readFileSync(lockFile)) : null,
    },
  };
}

/** Stands for the build that runs: the artifact that the run's connectors are admitted by. */
export function buildDigest(): string {
  return treeDigest('dist');
}

export function environmentFacts(): Readonly<Record<string, unknown>> {
  const [cpu] = os.cpus();
  return {
    platform: os.platform(),
    release: os.release(),
    arch: os.arch(),
    cpus: os.cpus().length,
    cpu: cpu?.model ?? null,
    memoryBytes: os.totalmem(),
    node: process.version,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  };
}

function treeDigest(folder: string): string {
  return sha256(JSON.stringify(digestsOf(path.join(ROOT, folder))));
}

function gitIdentity(): Source['git'] {
  // A project inside somebody else's clone has no identity of its own.
  if (!existsSync(path.join(ROOT, '.git'))) return null;
  try {
    const commit = git('rev-parse', 'HEAD').trim();
    const changed = git('status', '--porcelain', '--untracked-files=normal')
      .split('\n')
      .filter((line) => line !== '');
    return { commit, changed };
  } catch {
    return null;
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 20_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}
