/** Where deliveries go: a call over HTTP, or an action. */
import { z } from 'zod';
import { Duration } from '../durations';
import { Name } from '../names';
import { SecretReference } from '../secret-references';
import type { ActionTarget } from '../targets';
import { FromPayload, SuccessCheck } from '../targets';
import type { JsonFault } from './json-values';
import { faultless, jsonFault } from './json-values';
import type { FieldPath } from './mistakes';

/** How long starting an action may take. */
const ACTION_TIMEOUT_MS = 10_000;

const Timeout = Duration.pipe(
  z.number().min(100, 'must be at least 100ms').max(240_000, 'must be at most 240s'),
);

const WrittenHttpTarget = z
  .strictObject({
    url: z
      .url({ protocol: /^https?$/, error: 'write an http or https address' })
      .max(2000)
      .refine(
        (text) => !/^[^:]*:\/\/[^/?#]*@/.test(text),
        'must hold no user name or password; requests are signed with secretRefs instead',
      ),
    timeout: Timeout.default(10_000),
    secretRefs: z
      .array(SecretReference)
      .max(2, 'at most two: the current secret first, then the previous one')
      .default([]),
    success: SuccessCheck.nullable().default(null),
  })
  .transform(({ url, timeout, secretRefs, success }) => ({
    url,
    timeoutMs: timeout,
    secretRefs,
    success,
  }));

const Template = faultless(
  z.unknown(),
  (template) => jsonFault(template) ?? templateFault(template, []),
);

const WrittenActionTarget = z
  .strictObject({
    capability: Name,
    request: Template.default(null),
    affinity: FromPayload.nullable().default(null),
  })
  .transform(({ capability, request, affinity }) => ({
    capabilityId: capability,
    request: request as ActionTarget['request'],
    affinity,
    timeoutMs: ACTION_TIMEOUT_MS,
  }));

/** One of `http` and `action` is not null. */
export const TargetDocument = z
  .strictObject({
    kind: z.literal('Target'),
    tenant: Name,
    id: Name,
    http: WrittenHttpTarget.nullable().default(null),
    action: WrittenActionTarget.nullable().default(null),
  })
  .refine(({ http, action }) => http !== null || action !== null, {
    path: ['http'],
    error: 'is missing; a target is either http or action',
  })
  .refine(({ http, action }) => http === null || action === null, {
    path: ['action'],
    error: 'a target is either http or action, not both',
  });
export type TargetDocument = z.infer<typeof TargetDocument>;

/** `from` alone in a group is a pointer into the payload, whatever its value. */
function templateFault(template: unknown, path: FieldPath): JsonFault | null {
  if (typeof template !== 'object' || template === null) return null;
  const fields: [string, unknown][] = Object.entries(template);
  if (!Array.isArray(template) && fields.length === 1 && fields[0]?.[0] === 'from') {
    const problem = 'write a JSON pointer such as /issue/title';
    return FromPayload.safeParse(template).success ? null : { path: [...path, 'from'], problem };
  }
  for (const [key, inner] of fields) {
    const fault = templateFault(inner, [...path, Array.isArray(template) ? Number(key) : key]);
    if (fault !== null) return fault;
  }
  return null;
}
