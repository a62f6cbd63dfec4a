/** Sizes as people write them. */
import { z } from 'zod';

const UNIT_BYTES: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1000,
  KiB: 1024,
  MB: 1_000_000,
  MiB: 1_048_576,
};

/** `4096`, `"4096B"`, `512KiB`, `25MiB`, `1MB` → whole bytes, between 1 and `maxBytes`. */
export function byteSize(maxBytes: number) {
  return z.union([z.number(), z.string()]).transform((written, context): number => {
    const bytes = typeof written === 'number' ? written : bytesOf(written);
    if (Number.isSafeInteger(bytes) && bytes >= 1 && bytes <= maxBytes) return bytes;
    context.addIssue({
      code: 'custom',
      message: `write a size such as 512KiB, 25MiB or a number of bytes, from 1 to ${maxBytes}`,
    });
    return z.NEVER;
  });
}

function bytesOf(text: string): number {
  const match = /^(\d{1,9})(B|kB|KiB|MB|MiB)$/.exec(text);
  return Number(match?.[1]) * (UNIT_BYTES[match?.[2] ?? ''] ?? Number.NaN);
}
