/** Requests of the gRPC service as their .proto has them; a field that it lacks is not looked at. */
import { z } from 'zod';
import { Name } from './names';

export const ResolveCapabilityRequest = z.object({
  /** Which one of the two is there. */
  wanted: z.enum(['capabilityId', 'interface'], { error: 'name a capability_id or an interface' }),
  capabilityId: Name.optional(),
  interface: Name.optional(),
  projectId: Name.optional(),
});
export type ResolveCapabilityRequest = z.infer<typeof ResolveCapabilityRequest>;
