/** JSON on the command line: the value itself, or the name of a file of it. */
import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';

export interface GivenJson {
  readonly value: unknown;
}

/** What is JSON is meant as such; anything else names a file. */
export function parseJsonArgument(text: string): GivenJson {
  const given = parsed(text);
  if (given !== null) return given;
  try {
    const read = parsed(readFileSync(text, 'utf8'));
    if (read !== null) return read;
  } catch {
    throw new InvalidArgumentError('It is neither JSON nor a file that can be read.');
  }
  throw new InvalidArgumentError('The file is not JSON.');
}

function parsed(text: string): GivenJson | null {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}
