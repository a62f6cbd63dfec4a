/** The webhook schemes that come with Waybill: one file of `schemes/` each, by its name. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { WebhookScheme } from './webhook-schemes';

/** Iterating gives each name with its scheme. */
export interface ShippedSchemes
  extends
    Pick<ReadonlyMap<string, WebhookScheme>, 'get' | 'has' | 'keys'>,
    Iterable<readonly [string, WebhookScheme]> {}

const SCHEMES_FOLDER = path.join(__dirname, '..', '..', 'schemes');

/**
 * Every scheme of the folder, e.g. `github` from `github.yaml`. Each is read when it is first asked for, and
 * that throws when it is not valid: reading all of them was a tenth of the start of an API, which needs
 * one or two.
 */
export function loadShippedSchemes(folder: string = SCHEMES_FOLDER): ShippedSchemes {
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
  const names = new Set(files.sort().map((file) => path.basename(file, '.yaml')));
  const known = new Map<string, WebhookScheme>();
  const read = (name: string): WebhookScheme => {
    const scheme =
      known.get(name) ??
      WebhookScheme.parse(parse(readFileSync(path.join(folder, `${name}.yaml`), 'utf8')));
    known.set(name, scheme);
    return scheme;
  };
  return {
    get: (name) => (names.has(name) ? read(name) : undefined),
    has: (name) => names.has(name),
    keys: () => names.keys(),
    *[Symbol.iterator]() {
      for (const name of names) yield [name, read(name)] as const;
    },
  };
}
