import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

const TAIL_BYTES = 8 * 1024;

/**
 * A log file of at most `maxBytes` and one predecessor (`<path>.1`) of the same size. Writing never
 * throws: a full disk must not take a server down.
 */
export class BoundedLog {
  readonly #path: string;
  readonly #maxBytes: number;
  #fd: number | undefined;
  #size = 0;
  #tail = '';

  constructor(path: string, maxBytes: number) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#open();
    // Not ours to write when an earlier run was another user's: it makes room for a new one.
    if (this.#fd === undefined || this.#size >= maxBytes) this.#rotate();
  }

  write(chunk: Buffer): void {
    this.#tail = (this.#tail + chunk.toString('utf8')).slice(-TAIL_BYTES);
    if (this.#size > 0 && this.#size + chunk.length > this.#maxBytes) this.#rotate();
    if (this.#fd === undefined) return;
    try {
      this.#size += writeSync(this.#fd, chunk);
    } catch {
      this.#close();
    }
  }

  /** The last lines written by this object, oldest first, for an error message. */
  lastLines(count: number): string[] {
    return this.#tail
      .split('\n')
      .map((line) => line.trimEnd())
      .filter((line) => line !== '')
      .slice(-count);
  }

  #rotate(): void {
    this.#close();
    try {
      renameSync(this.#path, `${this.#path}.1`);
    } catch {
      // It is not there, or the folder is read-only.
    }
    this.#open();
  }

  #open(): void {
    try {
      this.#fd = openSync(this.#path, 'a', 0o644);
      this.#size = fstatSync(this.#fd).size;
    } catch {
      this.#fd = undefined;
    }
  }

  #close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}
