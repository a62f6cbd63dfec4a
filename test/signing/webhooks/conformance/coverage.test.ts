/** Asserted: each mutation that the vectors' file names is run, here or through the real ingress. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { vendors } from '../../../support/vendors/all';
import { shippedSchemes, vectorFacts } from '../fixtures';

const files = ['signatures', 'bodies', 'secrets', 'times'].map((name) =>
  path.join(__dirname, `${name}.test.ts`),
);
const ingress = path.join(__dirname, '../../../http/ingress-vendors.test.ts');
const texts = [...files, ingress].map((file) => readFileSync(file, 'utf8'));
const { conformance_mutations_to_run_for_every_vendor: mutations } = vectorFacts.meta;

it.each(mutations)('%s', (mutation) => {
  const quoted = texts.filter((text) => text.includes(`'${mutation}'`));
  expect(quoted).toHaveLength(1);
});

it('every shipped scheme has a vendor that signs for it', () => {
  const signed = new Set(vendors.map(({ scheme }) => scheme));
  expect([...shippedSchemes.keys()].filter((name) => !signed.has(name))).toEqual([]);
});
