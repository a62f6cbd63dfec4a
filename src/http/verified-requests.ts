/** A verified request as the delivery that it becomes. */
import type { VerifiedRequest } from '../db/deliveries';
import type { Verified } from '../domain/verification';
import type { CompiledScheme } from '../signing/webhooks/compile';
import type { WebhookRequest } from '../signing/webhooks/request';
import { describeVerified, type Recipient } from './ingress-requests';

/** A loop takes over the start of the workflow when this process has not managed it by then. */
const ATTEND_AFTER_MS = 2_000;

/** What is to be stored; null where the subscription takes none of its event types. */
export function deliveryOf(
  to: Recipient,
  scheme: CompiledScheme,
  webhook: WebhookRequest,
  verdict: Verified,
): VerifiedRequest | null {
  const { eventTypes, ...described } = describeVerified(to, scheme, webhook);
  if (!eventTypes.some((type) => takes(to.ingress.eventTypes, type))) return null;
  const horizon = scheme.scheme.retry_horizon_s;
  return Object.assign(
    described,
    {
      evidence: Object.assign(evidenceOf(scheme), { secretId: verdict.secretId }),
      dedupKey: described.externalId,
      freshness: freshnessOf(verdict),
      attendAfterMs: ATTEND_AFTER_MS,
    },
    horizon === undefined ? {} : { retryHorizonS: horizon },
  );
}

/** How a request was or would be verified; never a secret, a signature or an address. */
export function evidenceOf({ scheme }: CompiledScheme): Record<string, string> {
  return { scheme: scheme.kind, signatureField: scheme.signature.name };
}

function takes(eventTypes: readonly string[], eventType: string): boolean {
  return eventTypes.includes('*') || eventTypes.includes(eventType);
}

function freshnessOf({ signedAtMs, limits }: Verified): VerifiedRequest['freshness'] {
  if (signedAtMs === null || limits === null) return null;
  return { signedAtMs, toleranceMs: limits.behindMs, aheadMs: limits.aheadMs };
}
