/** The webhook schemes that come with Waybill: one file of `schemes/` each, by its name. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { WebhookScheme } from './webhook-schemes';

export type ShippedSchemes = ReadonlyMap<string, WebhookScheme>;

const SCHEMES_FOLDER = path.join(__dirname, '..', '..', 'schemes');

/** Every scheme of the folder, e.g. `github` from `github.yaml`. Throws when one is not valid. */
export function loadShippedSchemes(folder: string = SCHEMES_FOLDER): ShippedSchemes {
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
  return new Map(
    files.sort().map((file) => {
      const text = readFileSync(path.join(folder, file), 'utf8');
      return [path.basename(file, '.yaml'), WebhookScheme.parse(parse(text))] as const;
    }),
  );
}
