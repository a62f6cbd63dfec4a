/** Where a run keeps what is not evidence: databases, stores and secrets. Gone when it ends. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface Workspace {
  readonly path: string;
  /** A folder in it that only we can read. */
  folder(name: string): string;
  /** A file in it that only we can read; answers where it is. */
  secret(folder: string, name: string, text: string): string;
  remove(): void;
}

/** A new one for each run: two at once have nothing in common. */
export function createWorkspace(): Workspace {
  const root = mkdtempSync(path.join(tmpdir(), 'waybill-qualify-'));
  // Postgres runs as another user where we are root, and has to enter.
  chmodSync(root, 0o755);
  const folder = (name: string): string => {
    const place = path.join(root, name);
    mkdirSync(place, { recursive: true, mode: 0o700 });
    return place;
  };
  const remove = (): void => {
    rmSync(root, { recursive: true, force: true });
  };
  // It holds secrets: it does not outlive a run that ends out of turn.
  process.once('exit', remove);
  return {
    path: root,
    folder,
    secret: (within, name, text) => {
      const file = path.join(folder(within), name);
      writeFileSync(file, text, { mode: 0o600 });
      return file;
    },
    remove,
  };
}
