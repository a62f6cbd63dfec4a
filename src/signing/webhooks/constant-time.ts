import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares bytes of a known length: a digest. A wrong length is a mismatch, never an error. */
export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

/** Compares bytes whose length is a secret, too. */
export function sameSecret(one: Uint8Array, other: Uint8Array): boolean {
  return timingSafeEqual(sha256(one), sha256(other));
}

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}
