/** Where a process listens, as people write it: `127.0.0.1:7390`, `[::1]:7390`. */
import { z } from 'zod';

export const ListenAddress = z
  .string()
  .regex(/^(\[[0-9a-f:]+\]|[^:\s]+):\d{1,5}$/i, 'write host:port')
  .transform((text) => {
    const at = text.lastIndexOf(':');
    return { host: text.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(text.slice(at + 1)) };
  })
  .refine(({ port }) => port <= 65_535, 'the port is at most 65535');
