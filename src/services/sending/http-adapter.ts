/** Sends over HTTP: one call on a connection of its own, its secrets read now. */
import { judgeSending } from '../../domain/sending-verdicts';
import { parseRetryAfter } from '../../domain/retry';
import { point } from '../../points';
import type { HttpOperation } from '../../schemas/outbound';
import { SecretError, type SecretProvider } from '../../secrets/provider';
import { signStandardWebhook } from '../../signing/webhooks/standard-sign';
import { redaction } from '../../targets/redaction';
import { filledText, vendorRequest } from '../../targets/vendor-request';
import type { SendingMaterial, VendorRequest } from '../../targets/vendor-request';
import type { AttemptResult } from '../attempt-closing';
import { closeWithVerdict } from '../attempt-closing';
import { countedAs } from '../delivery-metrics';
import { signingSecrets } from '../signing-secrets';
import type { SendingAdapter, SendingAttempt } from './adapter';

type HttpAttempt = SendingAttempt & { readonly operation: HttpOperation };

/** The name by which Standard Webhooks carries an id that the receiver dedups by. */
const WEBHOOK_ID = 'webhook-id';

const LEAST_TIMEOUT_MS = 100;

export const httpAdapter: SendingAdapter<HttpOperation> = {
  problem: (operation, material) => {
    const built = vendorRequest(operation, material);
    return built.kind === 'unfit' ? built.problem : null;
  },
  resendable: ({ idempotencyHeader }) => idempotencyHeader !== null,
  send: async (services, attempt, signal) => {
    const { operation, info, clock, ref } = attempt;
    const dressed = await prepare(services.secrets, attempt);
    if ('verdict' in dressed) return closeWithVerdict(services, attempt, dressed);
    const leftMs = untilDeadlineMs(attempt);
    if (signal.aborted || leftMs < LEAST_TIMEOUT_MS) {
      return closeWithVerdict(services, attempt, NOT_BEGUN);
    }
    const startedAtMs = clock();
    const started = performance.now();
    const report = await services.call({
      ...dressed,
      method: operation.method,
      timeoutMs: Math.min(leftMs, timeoutOf(attempt)),
      success: operation.success.body,
      fresh: true,
      signal,
    });
    const durationMs = Math.round(performance.now() - started);
    const { answer } = report;
    if (attempt.firstCall && answer.kind !== 'not_sent') {
      const ageMs = startedAtMs - Date.parse(info.receivedAt);
      services.metrics?.dispatchedAfter(ageMs / 1000, countedAs(ref, info));
    }
    await point('attempt.answered');
    return closeWithVerdict(services, attempt, {
      verdict: judgeSending(answer, {
        statuses: operation.success.statuses,
        resendable: info.onlyReads || operation.idempotencyHeader !== null,
      }),
      detail: report.detail,
      report: {
        ...report,
        durationMs,
        startedAtMs,
        status: answer.kind === 'answered' ? answer.status : null,
      },
      retryAfterMs: answer.kind === 'answered' ? parseRetryAfter(answer.retryAfter, clock()) : null,
    });
  },
};

/**
 * Whoever takes the attempt over at its deadline counts on it that nothing leaves any more: a person may
 * look at the vendor then, find nothing, and send it again.
 */
function untilDeadlineMs({ info, endsInMs, clock }: HttpAttempt): number {
  return Date.parse(info.now) + endsInMs - clock();
}

const NOT_BEGUN: AttemptResult = {
  verdict: {
    ...{ outcome: 'not_sent', reason: 'not_begun' },
    ...{ mayRetry: true, pausesSubscription: false },
  },
  detail: 'nothing was sent: its worker was told to stop, or came to it too late',
  immediate: true,
};

/** Never beyond what is left of the caller's time. */
function timeoutOf({ operation, info }: HttpAttempt): number {
  const left = info.deadlineInMs ?? operation.timeoutMs;
  return Math.max(LEAST_TIMEOUT_MS, Math.min(operation.timeoutMs, left));
}

interface DressedRequest extends VendorRequest {
  readonly redact: (text: string) => string;
}

/** The request with all that is secret; a result: nothing can be sent. */
async function prepare(
  secrets: SecretProvider,
  attempt: HttpAttempt,
): Promise<DressedRequest | AttemptResult> {
  const { operation, payload, info } = attempt;
  if (payload === null) return notSent('payload_unreadable', 'the stored bytes are unreadable');
  const material = { payload, contentType: attempt.contentType, config: info.connection.config };
  const built = vendorRequest(operation, material);
  if (built.kind === 'unfit') return notSent('request_invalid', built.problem);
  try {
    const { url, headers, secret } = await authorized(secrets, attempt, built.request, material);
    return {
      url,
      body: built.request.body,
      headers: {
        'user-agent': 'waybill',
        ...headers,
        ...idempotent(attempt),
        ...(await signed(secrets, attempt, built.request.body)),
      },
      redact: redaction(secret),
    };
  } catch (error) {
    if (!(error instanceof SecretError)) throw error;
    return notSent('secret_unavailable', error.message);
  }
}

function notSent(
  reason: 'payload_unreadable' | 'request_invalid' | 'secret_unavailable',
  detail: string,
): AttemptResult {
  return {
    verdict: {
      outcome: 'not_sent',
      reason,
      // A secret may be there later.
      mayRetry: reason === 'secret_unavailable',
      pausesSubscription: false,
    },
    detail: `nothing was sent: ${detail}`,
  };
}

/** The same in every attempt and replay: what the vendor knows a repeat by. */
function idempotent({ operation, ref }: HttpAttempt): Record<string, string> {
  const { idempotencyHeader } = operation;
  const named = idempotencyHeader !== null && idempotencyHeader !== WEBHOOK_ID;
  return named ? { [idempotencyHeader]: ref.deliveryId } : {};
}

async function signed(
  provider: SecretProvider,
  { operation, info, ref, clock }: HttpAttempt,
  body: Uint8Array | null,
): Promise<Record<string, string>> {
  if (!operation.standardWebhooks) return {};
  const { signingSecretRefs } = info.connection;
  if (signingSecretRefs.length === 0) {
    throw new SecretError('not_found', 'the connection has no signingSecretRefs');
  }
  const secrets = await signingSecrets(provider, signingSecretRefs);
  const sent = { id: ref.deliveryId, sentAtMs: clock(), body: body ?? new Uint8Array() };
  return { ...signStandardWebhook({ ...sent, secrets }) };
}

interface Authorized extends Pick<VendorRequest, 'url' | 'headers'> {
  /** What must not be kept of an answer that repeats the request; none: nothing is secret. */
  readonly secret: readonly string[];
}

async function authorized(
  provider: SecretProvider,
  { operation: { auth }, info }: HttpAttempt,
  { url, headers }: VendorRequest,
  material: SendingMaterial,
): Promise<Authorized> {
  if (auth === null) return { url, headers, secret: [] };
  const value = await secretOf(provider, info.connection.secretRef);
  switch (auth.kind) {
    case 'bearer':
      return { url, headers: { ...headers, authorization: `Bearer ${value}` }, secret: [value] };
    case 'basic': {
      const user = filledText(auth.user, material);
      if (user === null) throw new SecretError('malformed', 'its user name cannot be filled in');
      const both = Buffer.from(`${user}:${value}`, 'utf8').toString('base64');
      return {
        url,
        headers: { ...headers, authorization: `Basic ${both}` },
        secret: [value, both],
      };
    }
    case 'header':
      return {
        url,
        headers: { ...headers, [auth.name]: `${auth.prefix}${value}` },
        secret: [value],
      };
    case 'query': {
      const own = `${auth.name}=${encodeURIComponent(value)}`;
      return { url: `${url}${url.includes('?') ? '&' : '?'}${own}`, headers, secret: [value] };
    }
  }
}

async function secretOf(provider: SecretProvider, ref: string | null): Promise<string> {
  if (ref === null) throw new SecretError('not_found', 'the connection has no secretRef');
  const value = (await provider.resolve(ref)).value.reveal();
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)) return value;
  throw new SecretError('unreadable', `secret ${ref} cannot stand in a header`);
}
