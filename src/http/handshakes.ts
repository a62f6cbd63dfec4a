/**
 * Answering handshakes (docs/architecture, "Webhook schemes are data"): nothing is stored and nothing
 * is started. One that the vendor signs is answered after its signature and its age were judged.
 */
import { databaseNowMs } from '../db/clock';
import { WaybillError } from '../domain/errors';
import { freshness, type Verified } from '../domain/verification';
import type { CompiledHandshake } from '../signing/webhooks/compile-handshakes';
import { answerHandshake, findHandshake } from '../signing/webhooks/handshakes';
import type { WebhookRequest } from '../signing/webhooks/request';
import { viewOf } from '../signing/webhooks/view';
import type { IngressReply } from './ingress-replies';
import { readIngressSecrets, type IngressSecrets } from './ingress-secrets';
import { HttpProblem } from './problems';
import { webhookRequest } from './ingress-requests';
import {
  limited,
  note,
  unsignedLine,
  type ArrivingRequest,
  type Receiving,
  type Reception,
} from './reception-notes';

/**
 * The answer to a GET or HEAD: a handshake or nothing.
 * @throws WaybillError `unknown_ingress`, `ingress_gone`, `handshake_refused`, and `method_not_allowed`
 *   where the scheme answers none of these
 */
export async function answerProbe(
  { deps, limit, lines, ingresses }: Reception,
  { ref, ip, raw }: ArrivingRequest,
): Promise<IngressReply> {
  const { ingress, scheme } = await ingresses(ref);
  const { publicBaseUrl } = deps;
  const origin = { publicBaseUrl, ref, settings: ingress.config };
  const webhook = webhookRequest(raw, origin, new Uint8Array());
  const reply = await answerUnsigned({ deps, limit, lines, ref, ip, ingress, scheme }, webhook);
  if (reply !== null) return reply;
  throw new HttpProblem('method_not_allowed', 'This path answers POST.', {
    headers: { allow: 'POST' },
  });
}

/** The answer to a request that nobody signed and that its scheme answers all the same, or null. */
export async function answerUnsigned(
  receiving: Receiving,
  webhook: WebhookRequest,
): Promise<IngressReply | null> {
  const found = findHandshake(receiving.scheme, viewOf(webhook), false);
  if (found === null) return null;
  const secrets =
    found.signer === null ? null : await readIngressSecrets(receiving.deps, receiving.ingress);
  return await answer(receiving, webhook, { found, secrets });
}

/** The answer to a verified request that is no delivery, or null. */
export async function answerSigned(
  receiving: Receiving,
  webhook: WebhookRequest,
  { secrets, verdict }: { readonly secrets: IngressSecrets; readonly verdict: Verified },
): Promise<IngressReply | null> {
  const found = findHandshake(receiving.scheme, viewOf(webhook), true);
  if (found === null) return null;
  if (verdict.signedAtMs !== null && verdict.limits !== null) {
    const nowMs = await databaseNowMs(receiving.deps.data);
    // One that is too old is refused and recorded like any other request.
    if (!freshness(verdict.signedAtMs, verdict.limits, nowMs).fresh) return null;
  }
  const usable = secrets.usable.filter(({ id }) => id === verdict.secretId);
  return await answer(receiving, webhook, { found, secrets: { ...secrets, usable } });
}

interface Asked {
  readonly found: CompiledHandshake;
  /** Null where the answer needs none. */
  readonly secrets: IngressSecrets | null;
}

async function answer(
  receiving: Receiving,
  webhook: WebhookRequest,
  { found, secrets }: Asked,
): Promise<IngressReply> {
  const { deps, limit, ref, ip, ingress } = receiving;
  const { usable = [], receivedAtMs = 0 } = secrets ?? {};
  const verdict = answerHandshake(found, viewOf(webhook), usable, receivedAtMs);
  const { name: handshake } = found.handshake;
  if (verdict.ok) {
    note(receiving, 'handshake', { handshake });
    const { status, contentType, body } = verdict;
    return { kind: 'fixed', status, contentType, body };
  }
  const { detail, fault } = verdict;
  if (fault === 'ours') {
    const { tenantId, subscriptionId } = ingress;
    unsignedLine(receiving, () => {
      deps.log.error({ tenantId, subscriptionId, handshake, detail }, 'no answer to a handshake');
    });
    throw new WaybillError('secret_unavailable');
  }
  const waitS = await limit.waitS(ref, ip);
  if (waitS !== null) throw limited(receiving, waitS, { handshake });
  note(receiving, 'handshake', { handshake, reason: 'handshake_refused' });
  throw new WaybillError('handshake_refused', detail);
}
