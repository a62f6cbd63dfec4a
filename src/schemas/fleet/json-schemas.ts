/** JSON Schemas (draft 2020-12) as a fleet file writes them: checked when read. */
import { Ajv2020 } from 'ajv/dist/2020';
import type { ErrorObject } from 'ajv/dist/2020';
import { z } from 'zod';
import { pointerSteps } from '../../domain/json-pointer';
import { canonicalJson } from '../canonical-json';
import { SCHEMA_OPTIONS, schemaJudge } from '../json-schema-judges';
import type { JsonFault } from './json-values';
import { faultless, jsonFault } from './json-values';
import type { FieldPath } from './mistakes';

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
/** Two of them make a contract, which stays below 256 KiB with its other fields. */
const MAX_BYTES = 120 * 1024;

/** Knows the draft alone; compiling that takes some milliseconds. */
const draft = new Ajv2020(SCHEMA_OPTIONS);

export const JsonSchema = faultless(
  z.record(z.string(), z.unknown()),
  (schema) => jsonFault(schema) ?? sizeFault(schema) ?? schemaFault(schema),
);

function sizeFault(schema: object): JsonFault | null {
  if (Buffer.byteLength(canonicalJson(schema)) <= MAX_BYTES) return null;
  return { path: [], problem: 'must be at most 120 KiB of JSON' };
}

function schemaFault(schema: Readonly<Record<string, unknown>>): JsonFault | null {
  if ((schema['$schema'] ?? DIALECT) !== DIALECT) {
    return { path: ['$schema'], problem: `write ${DIALECT}, or leave it out` };
  }
  // Its validation would be a promise, which no caller takes for a refusal.
  if (schema['$async'] !== undefined) return { path: ['$async'], problem: 'is not JSON Schema' };
  try {
    if (draft.validateSchema(schema) !== true) return invalid(schema, draft.errors ?? []);
    // One each: what a schema calls itself by is no other one's business.
    schemaJudge(schema);
    return null;
  } catch (error) {
    return { path: [], problem: `is no JSON Schema: ${reasonOf(error)}` };
  }
}

/** What the draft's own schema says against it, at the deepest place. */
function invalid(schema: object, errors: readonly ErrorObject[]): JsonFault {
  const deepest = [...errors].sort(
    (a, b) => b.instancePath.split('/').length - a.instancePath.split('/').length,
  )[0];
  return {
    path: pathIn(schema, deepest?.instancePath ?? ''),
    problem: `is no JSON Schema: ${deepest?.message ?? 'it does not follow the draft'}`,
  };
}

/** A JSON pointer as a path; indexes of lists as numbers. */
function pathIn(schema: object, pointer: string): FieldPath {
  let node: unknown = schema;
  return pointerSteps(pointer).map((key) => {
    const step = Array.isArray(node) ? Number(key) : key;
    const fields: [string, unknown][] = Object.entries(node ?? {});
    node = fields.find(([name]) => name === key)?.[1];
    return step;
  });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
