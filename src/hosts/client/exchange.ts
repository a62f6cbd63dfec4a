/** One HTTP exchange with one endpoint: no redirect, capped answer, one deadline over all of it. */
import { Agent, request, type Dispatcher } from 'undici';
import { connectionFault } from '../../domain/connection-errors';
import { isLoopbackUrl } from '../../domain/loopback';
import type { RouteAssignment, UnknownCause } from '../../domain/routes';
import { readCapped } from '../protocol/read-capped';
import type { LostReason, NotSentReason } from './results';

export interface Exchange {
  readonly endpoint: Pick<RouteAssignment, 'endpoint' | 'transportProfile'>;
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
  readonly limitBytes: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

type Failure =
  | { readonly kind: 'not_sent'; readonly reason: NotSentReason; readonly detail: string }
  | {
      readonly kind: 'lost';
      readonly cause: UnknownCause;
      readonly reason: LostReason;
      readonly detail: string;
    };

export type Exchanged =
  { readonly kind: 'received'; readonly status: number; readonly body: Buffer } | Failure;

const CONNECT_TIMEOUT_MS = 5_000;

export function hostAgent(connectionsPerHost: number): Agent {
  return new Agent({
    connections: connectionsPerHost,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    // One request a connection at a time, sent once; the exchange's deadline covers both time-outs.
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/** Never rejects. */
export async function exchange(agent: Dispatcher, call: Exchange): Promise<Exchanged> {
  const base = endpointUrl(call.endpoint);
  if (base === null) return notSent('endpoint_refused', 'the endpoint does not fit its transport');
  if (call.signal.aborted) return notSent('aborted', 'given up before it was sent');
  const deadline = AbortSignal.timeout(Math.max(0, call.timeoutMs));
  try {
    const response = await request(base + call.path, {
      method: call.method,
      dispatcher: agent,
      headers: call.headers,
      body: call.body,
      signal: AbortSignal.any([deadline, call.signal]),
    });
    const body = await readCapped(response.body, call.limitBytes);
    if (body !== null) return { kind: 'received', status: response.statusCode, body };
    return lostBy('answer_too_large', `the answer has more than ${call.limitBytes} bytes`);
  } catch (error) {
    return failureOf(error, { deadline, call });
  }
}

/** The endpoint without a slash at its end; null where its scheme or host is not the profile's. */
function endpointUrl({ endpoint, transportProfile }: Exchange['endpoint']): string | null {
  if (!URL.canParse(endpoint)) return null;
  const url = new URL(endpoint);
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  const fits =
    transportProfile === 'https'
      ? url.protocol === 'https:'
      : url.protocol === 'http:' && isLoopbackUrl(url);
  return plain && fits ? url.href.replace(/\/$/, '') : null;
}

function failureOf(
  error: unknown,
  { deadline, call }: { readonly deadline: AbortSignal; readonly call: Exchange },
): Failure {
  const { kind, code } = connectionFault(error);
  if (kind === 'refused') return notSent('connection_refused', 'the host refused the connection');
  if (kind === 'unconnected') {
    return notSent('connection_failed', `no connection to the host: ${code}`);
  }
  if (call.signal.aborted) {
    return { kind: 'lost', cause: 'ours', reason: 'aborted', detail: 'given up under way' };
  }
  if (deadline.aborted) return lostBy('timed_out', `no answer within ${call.timeoutMs} ms`);
  return lostBy('connection_lost', `the answer was lost${code === '' ? '' : `: ${code}`}`);
}

function notSent(reason: NotSentReason, detail: string): Failure {
  return { kind: 'not_sent', reason, detail };
}

/** The host's doing. */
function lostBy(reason: LostReason, detail: string): Failure {
  return { kind: 'lost', cause: 'host', reason, detail };
}
