/** Which addresses deliveries and events may go to: a setting of the deployment. */
import { z } from 'zod';

const Port = z.int().min(1).max(65_535);

/** An address or a range: `10.1.0.0/16`, `127.0.0.1`, `fd00::/8`. */
const Range = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'write an IP address or a range such as 10.1.0.0/16',
});

export const AddressPolicy = z.strictObject({
  /** Whether public addresses may be called without TLS. */
  http: z.boolean(),
  /** Of public addresses. */
  ports: z.array(Port).max(100),
  /** Here an address may be private, without TLS, and at any port. */
  allow: z.array(Range).max(100),
});
export type AddressPolicy = z.infer<typeof AddressPolicy>;

/** Public addresses over https alone. */
export const STRICT_ADDRESSES: AddressPolicy = { http: false, ports: [443], allow: [] };

/** As written: what is left out is as strict as it can be. */
export const WrittenAddressPolicy = z.strictObject({
  http: z.boolean().default(STRICT_ADDRESSES.http),
  ports: z
    .array(Port)
    .max(100)
    .default([...STRICT_ADDRESSES.ports]),
  allow: z.array(Range).max(100).default([]),
});
