/** The JSON Schemas of docs/host-protocol, made from what Waybill itself reads messages with. */
import { z } from 'zod';
import {
  HostAnswerSchema,
  HostHealth,
  HostManifestSchema,
  HostReadiness,
  LifecycleClaimsSchema,
  LifecycleReply,
  RouteTokenSchema,
} from '../../../src/schemas/host-messages';

const MESSAGES: Readonly<Record<string, readonly [string, z.ZodType]>> = {
  'route-token': ['Claims of a route token, by which Waybill permits a call.', RouteTokenSchema],
  'host-answer': ["Claims of a host's signed answer.", HostAnswerSchema],
  manifest: ['What GET /v1/manifest answers.', HostManifestSchema],
  health: ['What GET /health answers.', HostHealth],
  ready: ['What GET /ready answers.', HostReadiness],
  'lifecycle-call': ["Claims of a host's signed lifecycle call.", LifecycleClaimsSchema],
  'lifecycle-reply': ['What the lifecycle service answers, with 200 or 409.', LifecycleReply],
};

/** By file name. A message may have more fields than its schema names: a reader ignores them. */
export function messageSchemas(): ReadonlyMap<string, object> {
  return new Map(
    Object.entries(MESSAGES).map(([name, [description, schema]]) => {
      const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input', override: portable });
      return [`${name}.schema.json`, { $schema, title: name, description, ...rest }];
    }),
  );
}

const OURS = String.raw`^[^\p{Cc}\p{Cs}]+$`;
/** In characters alone. Half a surrogate pair is no text in most languages, and no schema can name it. */
const EVERYWHERE = '^[^\u0000-\u001f\u007f-\u009f]+$';

/** Not every engine of regular expressions knows classes of characters by name. */
function portable({ jsonSchema }: { readonly jsonSchema: { pattern?: string } }): void {
  if (jsonSchema.pattern === OURS) jsonSchema.pattern = EVERYWHERE;
}
