/** What the edge is told. */
import { z } from 'zod';

/** Says which gateway a request should go to first, and in the answer which one it went to. */
export const GATEWAY_HEADER = 'x-qualification-gateway';

export const EdgeSettings = z.object({
  port: z.int(),
  keyFile: z.string(),
  certFile: z.string(),
  gateways: z.array(z.object({ name: z.string(), url: z.string() })).min(1),
});
export type EdgeSettings = z.infer<typeof EdgeSettings>;
