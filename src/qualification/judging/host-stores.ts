/** What hosts remember, read from a copy of their stores: the live one belongs to its host alone. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { openSqlite } from '../../hosts/sqlite';
import { hostStoreFile } from '../site/plans';
import { HOSTS, type HostMember } from '../site/topology';
import type { Workspace } from '../site/workspace';

const State = z.object({ state: z.string() });

/** How many hosts have a final result of the action. */
export function settledInStores(
  workspace: Workspace,
  ref: { readonly tenant: string; readonly actionId: string },
): number {
  return HOSTS.filter((host) => stateInStore(workspace, host, ref) === 'finished').length;
}

/** `fenced`, `intent`, `finished`, or `none` where the host does not know the action. */
export function stateInStore(
  workspace: Workspace,
  host: HostMember,
  { tenant, actionId }: { readonly tenant: string; readonly actionId: string },
): string {
  const file = hostStoreFile(workspace, host);
  if (!existsSync(file)) return 'none';
  const folder = mkdtempSync(path.join(workspace.folder('copies'), 'store-'));
  try {
    for (const end of ['', '-wal']) {
      if (existsSync(`${file}${end}`))
        copyFileSync(`${file}${end}`, path.join(folder, `copy${end}`));
    }
    const store = openSqlite(path.join(folder, 'copy'), { busyTimeoutMs: 1_000 });
    try {
      const sql = 'select state from actions where tenant = ? and action = ?';
      const row = store.prepare(sql).get(tenant, actionId);
      return row === undefined ? 'none' : State.parse(row).state;
    } finally {
      store.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
