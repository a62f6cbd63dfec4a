/** Small texts that several kinds of documents have. */
import { z } from 'zod';

/** For people. */
export const Text = z.string().trim().min(1, 'must not be empty').max(200);

export const Version = z
  .string()
  .regex(/^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/, 'write a version such as 1.0.0');

/** A word that travels in tokens and headers. */
export const Label = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, 'write 1 to 200 printable ASCII characters without blanks');

export const Sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'write a SHA-256 digest: 64 lower-case hexadecimal digits');
