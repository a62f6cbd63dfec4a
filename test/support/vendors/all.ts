/** Every vendor that has a shipped scheme. */
import { hmacVendors } from './hmac-vendors';
import { keyVendors } from './key-vendors';
import { otherVendors } from './other-vendors';
import type { Vendor } from './vendor';

export const vendors: readonly Vendor[] = [...hmacVendors, ...keyVendors, ...otherVendors];
