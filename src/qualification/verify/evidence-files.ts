/** Reading the files of a run's evidence; what is missing or has another form is a problem, not an exception. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { z } from 'zod';

export class EvidenceFiles {
  readonly problems: string[] = [];
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  has(name: string): boolean {
    return existsSync(path.join(this.#folder, name));
  }

  problem(text: string): void {
    this.problems.push(text);
  }

  text(name: string): string | null {
    try {
      return readFileSync(path.join(this.#folder, name), 'utf8');
    } catch {
      this.problem(`${name} is missing`);
      return null;
    }
  }

  json<Schema extends z.ZodType>(name: string, schema: Schema): z.output<Schema> | null {
    const text = this.text(name);
    return text === null ? null : this.#parsed(name, text, schema);
  }

  /** Of a file of JSON lines. */
  lines<Schema extends z.ZodType>(name: string, schema: Schema): z.output<Schema>[] {
    const rows = (this.text(name) ?? '').split('\n').filter((row) => row !== '');
    return rows.flatMap((row, index) => {
      const value = this.#parsed(`${name}, line ${index + 1}`, row, schema);
      return value === null ? [] : [value];
    });
  }

  #parsed<Schema extends z.ZodType>(
    name: string,
    text: string,
    schema: Schema,
  ): z.output<Schema> | null {
    try {
      return schema.parse(JSON.parse(text));
    } catch {
      this.problem(`${name} has not the form that a run writes`);
      return null;
    }
  }
}
