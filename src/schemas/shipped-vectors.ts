/** Vectors of the webhook schemes that come with Waybill: `schemes/vectors.json`. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { canonicalJson } from './canonical-json';
import type { ShippedSchemes } from './shipped-schemes';
import type { WebhookScheme } from './webhook-schemes';
import { VectorFile, type VectorVendor } from './webhook-vectors';

const VECTORS_FILE = path.join(__dirname, '..', '..', 'schemes', 'vectors.json');

/**
 * The vectors of a scheme that is a shipped one, by whatever name it was published: by vendor, each for
 * the scheme `default`. Of a scheme of one's own there are none.
 */
export function shippedVectors(
  scheme: WebhookScheme,
  shipped: ShippedSchemes,
  file: string = VECTORS_FILE,
): VectorVendor[] {
  const text = canonicalJson(scheme);
  const name = [...shipped].find(([, known]) => canonicalJson(known) === text)?.[0];
  if (name === undefined) return [];
  const vendors = VectorFile.parse(JSON.parse(readFileSync(file, 'utf8')));
  return vendors.flatMap(({ vendor, vectors }) => {
    const own = vectors.filter((vector) => shippedName(vendor, vector.scheme, shipped) === name);
    if (own.length === 0) return [];
    return [{ vendor, schemes: {}, vectors: own.map((one) => ({ ...one, scheme: 'default' })) }];
  });
}

/** Where a vendor's scheme of that name is shipped: as `vendor-name`, or as the vendor's first. */
export function shippedName(vendor: string, scheme: string, shipped: ShippedSchemes): string {
  const full = `${vendor}-${scheme}`;
  return shipped.has(full) ? full : vendor;
}
