/** The secrets of an ingress at the receipt of a request. */
import { databaseNowMs } from '../db/clock';
import type { Database } from '../db/database';
import { receiverFaults, type Unverified } from '../domain/verification';
import type { IngressConfig, SecretWindow } from '../schemas/delivery-rows';
import type { SecretProvider } from '../secrets/provider';
import type { WebhookSecret } from '../signing/webhooks/secrets';

export interface IngressSecrets {
  readonly usable: readonly WebhookSecret[];
  /** References that count now and could not be read. */
  readonly unreadable: readonly string[];
  /** Receipt by the database's clock, which the secrets' windows are judged by. */
  readonly receivedAtMs: number;
}

/** Reads the secrets that count now; one that cannot be read does not keep the others from it. */
export async function readIngressSecrets(
  deps: { readonly data: Database; readonly secrets: SecretProvider },
  ingress: IngressConfig,
): Promise<IngressSecrets> {
  const windowed = ingress.secrets.some(
    ({ notBefore, notAfter }) => notBefore !== null || notAfter !== null,
  );
  // Without a window no decision hangs on the time, and its round trip is spared.
  const receivedAtMs = windowed ? await databaseNowMs(deps.data) : 0;
  return await secretsAsOf(deps.secrets, ingress, receivedAtMs);
}

/** Those that counted at that instant of the database's clock, ms since the epoch. */
export async function secretsAsOf(
  provider: SecretProvider,
  ingress: IngressConfig,
  receivedAtMs: number,
): Promise<IngressSecrets> {
  const active = ingress.secrets.map(withWindow).filter(({ window }) => {
    return window.notBeforeMs <= receivedAtMs && receivedAtMs < window.notAfterMs;
  });
  const usable: WebhookSecret[] = [];
  const unreadable: string[] = [];
  for (const { id, ref, window } of active) {
    try {
      const { value } = await provider.resolve(ref);
      usable.push({ id, value: value.reveal(), ...window });
    } catch {
      // The provider's message names the reference and nothing that we do not know.
      unreadable.push(ref);
    }
  }
  return { usable, unreadable, receivedAtMs };
}

function withWindow({ id, ref, notBefore, notAfter }: SecretWindow) {
  return {
    id,
    ref,
    window: {
      notBeforeMs: notBefore === null ? -Infinity : Date.parse(notBefore),
      notAfterMs: notAfter === null ? Infinity : Date.parse(notAfter),
    },
  };
}

/**
 * Whether a request was not verified for want of a secret: then the vendor must send again, and
 * nothing is held against it.
 */
export function isOurFault({ reason }: Unverified, { unreadable }: IngressSecrets): boolean {
  return receiverFaults.has(reason) || (reason === 'signature_mismatch' && unreadable.length > 0);
}
