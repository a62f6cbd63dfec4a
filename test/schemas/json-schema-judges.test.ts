/** Schemas that ask for more than there is time for: each is judged within its bound, and the next one, too. */
import { samplesFor } from '../../src/conformance/samples';
import type { ManifestCapability } from '../../src/domain/host-protocol';
import { boundedly, schemaJudge, TooCostly } from '../../src/schemas/json-schema-judges';
import { JsonSchema } from '../../src/schemas/fleet/json-schemas';

const judgeMs = 100;
const backtracking = { type: 'string', pattern: '^(a+)+$' };
const hostile = `${'a'.repeat(40)}!`;

/** Each of its levels asks the next one twice: 2^40 steps. */
function doubling(): object {
  const levels = Array.from({ length: 40 }, (_, n): [string, object] => {
    const next = { $ref: `#/$defs/d${String(n + 1)}` };
    return [`d${String(n)}`, { allOf: [next, next] }];
  });
  const $defs = Object.fromEntries([...levels, ['d40', { type: 'string' }]]);
  return { $ref: '#/$defs/d0', $defs };
}

test.each([
  ['a pattern that backtracks', backtracking, hostile, 'misfit'],
  ['names by a pattern that backtracks', { propertyNames: backtracking }, { [hostile]: 1 }, 'fits'],
  ['references that double', doubling(), 'x', 'misfit'],
])('%s is cut off, and the next value is judged as ever', (_name, schema, value, next) => {
  expect(JsonSchema.safeParse(schema).success).toBe(true);
  const judge = schemaJudge(schema, { judgeMs });
  expect(judge(value)).toMatchObject({
    ...{ kind: 'too_costly', problem: expect.stringMatching(/within 100 ms/) as string },
  });
  expect(judge(7)).toMatchObject({ kind: next });
  expect(schemaJudge({ const: 7 })(7)).toEqual({ kind: 'fits' });
});

test('what the work throws is its own', () => {
  expect(() => boundedly((): unknown => JSON.parse('{'), judgeMs)).toThrow(SyntaxError);
  expect(boundedly(() => boundedly(() => 'inner', judgeMs), judgeMs)).toBe('inner');
});

test('a request that could never be made up ends the making', () => {
  const names = Array.from('abcdefghij');
  const properties = Object.fromEntries(names.map((name) => [name, { $ref: '#' }]));
  const requestSchema = { required: names, properties };
  const capability = { capabilityId: 'x', requestSchema } as unknown as ManifestCapability;
  expect(() => samplesFor(capability, {})).toThrow(TooCostly);
});
