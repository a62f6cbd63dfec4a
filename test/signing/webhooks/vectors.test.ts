/**
 * Real: published and derived vectors of 26 vendors, with their provenance beside them, and the schemes
 * as shipped. Doubled: the clock, which is each vector's `verify_at`. Asserted: accepted exactly if
 * valid, and why not.
 */
import { SignatureScheme } from '../../../src/schemas/webhook-schemes';
import { shippedName as nameIn, shippedVectors } from '../../../src/schemas/shipped-vectors';
import { compileScheme } from '../../../src/signing/webhooks/compile';
import { runVectors } from '../../../src/signing/webhooks/vectors';
import { shippedScheme, shippedSchemes, vectorFacts, vectorVendors } from './fixtures';

/** Where a vendor's scheme of that name is shipped. */
const shippedName = (vendor: string, scheme: string) => nameIn(vendor, scheme, shippedSchemes);

/** How a handshake is signed; it is part of the scheme that has the handshake. */
const answers: readonly string[] = ['url-validation'];

describe.each(vectorVendors)('vectors of $vendor', ({ vendor, vectors }) => {
  it.each(vectors)('scheme $scheme: $name', async (vector) => {
    const scheme = shippedScheme(shippedName(vendor, vector.scheme));
    const [ran] = await runVectors(
      { vendor, schemes: { [vector.scheme]: scheme }, vectors: [vector] },
      new Map(),
    );
    const facts = vectorFacts.vendors.find((known) => known.vendor === vendor);
    const reason = facts?.vectors[vectors.indexOf(vector)]?.reason;
    expect(ran).toMatchObject({
      expected: vector.valid ? 'accepted' : 'refused',
      actual: vector.valid ? 'accepted' : 'refused',
      reason: vector.valid ? null : reason,
    });
  });
});

it('every vendor of the file ships, each scheme as the file describes it, with its documentation', () => {
  expect(vectorVendors).toHaveLength(26);
  for (const { vendor, schemes } of vectorVendors) {
    const docs = vectorFacts.vendors.find((known) => known.vendor === vendor)?.docs;
    for (const [name, described] of Object.entries(schemes)) {
      if (answers.includes(name)) continue;
      expect(shippedScheme(shippedName(vendor, name))).toMatchObject({
        ...Object(described),
        docs,
      });
    }
  }
});

it('the answer that Zoom wants is signed as the file describes it', () => {
  const zoom = vectorVendors.find(({ vendor }) => vendor === 'zoom');
  const described = zoom?.schemes['url-validation'];
  expect(shippedScheme('zoom').handshakes?.map(({ signature }) => signature)).toEqual([described]);
});

it('no scheme ships that the file does not have, and each can be compiled', () => {
  const named = vectorVendors.flatMap(({ vendor, schemes }) =>
    Object.keys(schemes).map((name) => shippedName(vendor, name)),
  );
  expect([...shippedSchemes.keys()].filter((name) => !named.includes(name))).toEqual([]);
  for (const scheme of shippedSchemes.values()) {
    expect(compileScheme(scheme).scheme).toBe(scheme);
    expect(SignatureScheme.safeParse(scheme).success).toBe(true);
  }
});

it.each([...shippedSchemes.keys()])('%s ships with vectors to accept and to refuse', (name) => {
  const vectors = shippedVectors(shippedScheme(name), shippedSchemes).flatMap((one) => one.vectors);
  expect(new Set(vectors.map(({ valid }) => valid))).toEqual(new Set([true, false]));
  expect(
    shippedVectors({ ...shippedScheme(name), docs: 'https://own.test/' }, shippedSchemes),
  ).toEqual([]);
});
