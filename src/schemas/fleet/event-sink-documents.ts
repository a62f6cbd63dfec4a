/** Where a tenant's events are sent. */
import { z } from 'zod';
import { EVENT_TYPES } from '../../domain/events';
import { SINK_STATES } from '../../domain/event-sinks';
import { Duration } from '../durations';
import { Name } from '../names';
import { SecretReference } from '../secret-references';
import { WebAddress } from './web-addresses';

const Types = z
  .array(z.enum(['*', ...EVENT_TYPES]))
  .min(1, "name at least one type, or '*' for every one")
  .transform((types) => [...new Set(types)].sort())
  .refine((types) => !types.includes('*') || types.length === 1, "'*' already takes every type");

export const EventSinkDocument = z.strictObject({
  kind: z.literal('EventSink'),
  tenant: Name,
  id: Name,
  url: WebAddress,
  timeout: Duration.pipe(
    z.number().min(100, 'must be at least 100ms').max(60_000, 'must be at most 60s'),
  ).default(10_000),
  types: Types.default(['*']),
  secretRefs: z
    .array(SecretReference)
    .min(1, 'is empty; events are always signed')
    .max(2, 'at most two: the current secret first, then the previous one'),
  state: z.enum(SINK_STATES).nullable().default(null),
});
export type EventSinkDocument = z.infer<typeof EventSinkDocument>;
