/**
 * What a running `waybill up` says of itself, for commands beside it: `run.json` in the home folder,
 * readable by its owner alone, because the database's address holds a password.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { isSameProcess } from '../embedded/process-identity';

export const RunFile = z.object({
  pid: z.int(),
  /** Tells the process from a later one with the same pid. */
  identity: z.string(),
  startedAt: z.iso.datetime(),
  addresses: z.object({
    api: z.url(),
    health: z.url(),
    receiver: z.url(),
    /** Null where the fleet has no demo host. */
    provider: z.url().nullable(),
    /** Of the demo hosts, by replica. */
    hosts: z.record(z.string(), z.url()),
    /** `host:port`. */
    temporal: z.string(),
    temporalUi: z.url().nullable(),
  }),
  databaseUrl: z.string(),
  namespace: z.string(),
  tenants: z.array(z.string()),
  /** The processes under it that run now, by name. */
  pids: z.record(z.string(), z.int()),
});
export type RunFile = z.infer<typeof RunFile>;

/** The one of a living `waybill up`; null when none runs in this folder. */
export function readRunFile(home: string): RunFile | null {
  try {
    const found = RunFile.safeParse(JSON.parse(readFileSync(fileIn(home), 'utf8')));
    if (!found.success) return null;
    return isSameProcess(found.data.pid, found.data.identity) ? found.data : null;
  } catch {
    return null;
  }
}

/** Written in one step: a reader sees all of it or none. */
export function writeRunFile(home: string, run: RunFile): void {
  const draft = `${fileIn(home)}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, `${JSON.stringify(run, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, fileIn(home));
}

export function removeRunFile(home: string): void {
  rmSync(fileIn(home), { force: true });
}

function fileIn(home: string): string {
  return path.join(home, 'run.json');
}
