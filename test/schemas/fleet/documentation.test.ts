/** docs/fleet-file.md names every field that a fleet file may have, under its kind. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { FLEET_DOCUMENTS, FLEET_KINDS } from '../../../src/schemas/fleet/documents';
import { WrittenRetryProfile } from '../../../src/schemas/retry-profiles';

const page = readFileSync(path.join(__dirname, '../../../docs/fleet-file.md'), 'utf8');
/** Fields of these are described elsewhere. */
const ELSEWHERE = ['webhookScheme', 'retry', 'defaultRetry', 'kind'];

const section = (heading: string): string =>
  page.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';

/** Every field name of a schema, at any depth. */
function fieldsOf(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([name, inner]: [string, unknown]) => {
    if (name !== 'properties') return fieldsOf(inner);
    return Object.entries(z.record(z.string(), z.unknown()).parse(inner)).flatMap(
      ([field, below]) => [field, ...(ELSEWHERE.includes(field) ? [] : fieldsOf(below))],
    );
  });
}

const fields = (schema: z.ZodType): string[] =>
  fieldsOf(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));

test.each(FLEET_KINDS)('%s', (kind) => {
  const text = section(`\`kind: ${kind}\``);
  const missing = fields(FLEET_DOCUMENTS[kind]).filter((field) => field !== 'kind');
  expect(missing.filter((field) => !text.includes(`\`${field}\``))).toEqual([]);
});

test('a retry profile', () => {
  const text = section('A retry profile');
  expect(fields(WrittenRetryProfile).filter((field) => !text.includes(`\`${field}\``))).toEqual([]);
});
