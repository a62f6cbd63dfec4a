/** Documents as the text of a fleet file, and back: whatever JSON they hold. */
import * as fc from 'fast-check';
import { parseYamlDocuments } from '../../../src/schemas/fleet/yaml-documents';
import { fleetText } from '../../../src/schemas/fleet/yaml-texts';
import { arbitraryJsonGroup } from '../../support/arbitrary-values';

test('a text says exactly what its documents hold', () => {
  fc.assert(
    fc.property(fc.array(arbitraryJsonGroup, { minLength: 1, maxLength: 3 }), (groups) => {
      const documents = groups.map((config) => ({ kind: 'Instance', config }));
      const read = parseYamlDocuments(fleetText(documents)).map(({ written }) => written);
      // A negative zero is a zero in JSON.
      expect(JSON.parse(JSON.stringify(read))).toEqual(JSON.parse(JSON.stringify(documents)));
    }),
    { numRuns: 1000 },
  );
});

test('what is undefined is left out, what is null is said', () => {
  expect(fleetText([{ kind: 'Target', http: null, action: undefined, a: { b: null } }])).toBe(
    'kind: Target\nhttp: null\na:\n  b: null\n',
  );
});
