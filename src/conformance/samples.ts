/** Requests for a capability: the author's, and else made up from its request schema. */
import type { ManifestCapability } from '../domain/host-protocol';
import type { ConformanceCases } from '../schemas/conformance';
import { boundedly, schemaJudge } from '../schemas/json-schema-judges';
import { sampleOf } from './sample-values';

export interface Samples {
  /** JSON texts; empty: none is known. */
  readonly valid: readonly string[];
  /** Whether the author wrote the valid ones: then the sandbox carries them out. */
  readonly written: boolean;
  readonly invalid: readonly string[];
  readonly slow: string | null;
}

const MOST_MADE_UP = 3;
/** A schema may ask for more than there can be. */
const MAKING_MS = 1_000;
/** No JSON at all, whatever the schema says. */
const NOT_JSON = '{"unfinished":';

/** @throws when the schema cannot be compiled, or asks for too much */
export function samplesFor(capability: ManifestCapability, cases: ConformanceCases): Samples {
  const given = cases[capability.capabilityId];
  const judge = schemaJudge(capability.requestSchema as object | boolean);
  const fits = (value: unknown) => judge(value).kind === 'fits';
  const made = boundedly(() => sampleOf(capability.requestSchema), MAKING_MS);
  const valid = given?.valid ?? [];
  const usable = valid.length > 0 ? valid : made !== undefined && fits(made) ? [made] : [];
  const invalid = given?.invalid ?? [];
  const wrong =
    invalid.length > 0
      ? invalid
      : spoilt(usable[0])
          .filter((value) => !fits(value))
          .slice(0, MOST_MADE_UP);
  return {
    valid: usable.map((value) => JSON.stringify(value)),
    written: valid.length > 0,
    invalid: [...wrong.map((value) => JSON.stringify(value)), NOT_JSON],
    slow: given?.slow === undefined ? null : JSON.stringify(given.slow),
  };
}

/** What a request is not, if its schema says anything: without a field, with another type, or else. */
function spoilt(valid: unknown): unknown[] {
  const others = [null, [], 'a text', 0, {}];
  if (typeof valid !== 'object' || valid === null || Array.isArray(valid)) return others;
  const fields = Object.entries(valid);
  return [
    ...fields.map(([name]) => Object.fromEntries(fields.filter(([other]) => other !== name))),
    ...fields.map(([name]) => ({ ...valid, [name]: { unexpected: [true] } })),
    ...others,
  ];
}
