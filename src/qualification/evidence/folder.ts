/** The folder of a run's evidence: taken by one run, written by it alone, and sealed with digests. */
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { WaybillError } from '../../domain/errors';
import type { SecretValues } from './secret-values';

/** Where the digests of all other files stand. */
export const DIGESTS_FILE = 'digests.json';
/** What makes a folder a run's own: made first, and by one run only. */
export const CLAIM_FILE = 'run.json';

export class EvidenceFolder {
  readonly path: string;
  readonly #secrets: SecretValues;

  private constructor(folder: string, secrets: SecretValues) {
    this.path = folder;
    this.#secrets = secrets;
  }

  /**
   * Takes a folder that is empty, or makes it.
   * @throws WaybillError `config_invalid` for one that holds anything, belongs to somebody else, or is none
   */
  static claim(wanted: string, claim: object, secrets: SecretValues): EvidenceFolder {
    const folder = path.resolve(wanted);
    try {
      mkdirSync(folder, { recursive: true, mode: 0o755 });
    } catch (error) {
      throw refused(folder, error instanceof Error ? error.message : 'it cannot be made');
    }
    const { uid } = lstatSync(folder);
    if (!lstatSync(folder).isDirectory()) throw refused(folder, 'it is no folder');
    if (uid !== (process.getuid?.() ?? uid)) throw refused(folder, 'it belongs to another user');
    if (readdirSync(folder).length > 0) throw refused(folder, 'it is not empty');
    const evidence = new EvidenceFolder(folder, secrets);
    try {
      // Fails where another run was faster.
      writeFileSync(path.join(folder, CLAIM_FILE), jsonText(claim), { flag: 'wx' });
    } catch {
      throw refused(folder, 'another run has just taken it');
    }
    return evidence;
  }

  json(name: string, value: unknown): void {
    this.text(name, jsonText(value));
  }

  text(name: string, text: string): void {
    writeFileSync(this.#place(name), this.#secrets.redacted(text));
  }

  /** One line of a file of JSON lines. */
  line(name: string, value: unknown): void {
    appendFileSync(this.#place(name), this.#secrets.redacted(`${JSON.stringify(value)}\n`));
  }

  /** Writes down the SHA-256 of every file; answers that of the list itself, which stands for all. */
  seal(): string {
    this.json(DIGESTS_FILE, { algorithm: 'sha256', files: digestsOf(this.path) });
    return sha256(readFileSync(path.join(this.path, DIGESTS_FILE)));
  }

  #place(name: string): string {
    const place = path.join(this.path, name);
    mkdirSync(path.dirname(place), { recursive: true });
    return place;
  }
}

/** SHA-256 (hex) by path below the folder, in order; of every file but the list itself. */
export function digestsOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .map((name) => name.split(path.sep).join('/'))
    .filter((name) => name !== DIGESTS_FILE)
    .sort();
  return Object.fromEntries(
    files.map((name) => [name, sha256(readFileSync(path.join(folder, name)))]),
  );
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function refused(folder: string, why: string): WaybillError {
  return new WaybillError(
    'config_invalid',
    `--evidence: ${folder}: ${why}; name a folder that is empty or not there yet`,
    { field: '--evidence' },
  );
}
