/**
 * One HTTP call to a target. Redirects are never followed, the answer is read up to a cap, and one
 * deadline covers everything from connecting to the last byte read.
 */
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Agent } from 'undici';
import type { Dispatcher } from 'undici';
import type { HttpAnswer } from '../domain/attempts';
import { connectionFault } from '../domain/connection-errors';
import type { AddressPolicy } from '../schemas/target-addresses';
import type { SuccessCheck } from '../schemas/targets';
import { AddressRefused, guardedConnector, type LookUp } from './addresses';
import { exchange, type Exchanged } from './exchange';
import { checkBody } from './success-check';

/** Bytes of an answer that are read; what follows is left unread. */
const ANSWER_CAP_BYTES = 64 * 1024;
/** Bytes of an answer that are kept for people. */
const ANSWER_HEAD_BYTES = 1024;
const CONNECT_TIMEOUT_MS = 5_000;

export interface TargetCall {
  /** POST unless told. */
  readonly method?: Dispatcher.HttpMethod;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
  readonly timeoutMs: number;
  readonly success: SuccessCheck | null;
  /** Aborts the call early; the answer is then lost. */
  readonly signal: AbortSignal;
  /**
   * On a connection of its own, made for it and closed after it: one that was kept may be closed by the
   * other side just now, and then nobody knows whether the request was taken.
   */
  readonly fresh?: boolean;
  /** Takes what is secret out of what is kept of the answer. */
  readonly redact?: (text: string) => string;
}

export interface TargetReport {
  readonly answer: HttpAnswer;
  /** One sentence for people, without addresses' credentials or bodies. */
  readonly detail: string;
  readonly answerSha256: string | null;
  readonly answerHead: string | null;
}

export type CallTarget = (call: TargetCall) => Promise<TargetReport>;

export interface HttpTargetsOptions {
  /** Which addresses may be called, asked for at each call. */
  readonly policy: () => Promise<AddressPolicy>;
  /** Of connecting, the look-up included; 5 s unless told. */
  readonly connectTimeoutMs?: number;
  /** Looks names up; the system's, unless told. */
  readonly lookUp?: LookUp;
}

/**
 * A pool of connections to targets, and the call that uses it. A connection that is kept goes to the
 * address that was checked when it was made; another policy begins with none.
 */
export function httpTargets(options: HttpTargetsOptions): {
  readonly call: CallTarget;
  close(): Promise<void>;
} {
  let pool: { readonly policy: AddressPolicy; readonly agent: Agent } | null = null;
  /** Of `fresh` calls under way. */
  const own = new Set<Agent>();
  const agentOf = (policy: AddressPolicy): Agent => {
    if (pool?.policy === policy) return pool.agent;
    if (pool !== null && isDeepStrictEqual(pool.policy, policy)) {
      pool = { policy, agent: pool.agent };
      return pool.agent;
    }
    // Calls under way on the pool before end as they end.
    pool?.agent.close().catch(() => undefined);
    pool = { policy, agent: agentUnder(policy, options) };
    return pool.agent;
  };
  const callFresh = async (policy: AddressPolicy, call: TargetCall): Promise<TargetReport> => {
    const agent = agentUnder(policy, options);
    own.add(agent);
    try {
      return await callTarget(agent, call);
    } finally {
      own.delete(agent);
      agent.destroy().catch(() => undefined);
    }
  };
  return {
    call: async (call) => {
      const policy = await options.policy();
      return call.fresh === true ? callFresh(policy, call) : callTarget(agentOf(policy), call);
    },
    close: async () => {
      const open = pool === null ? [...own] : [pool.agent, ...own];
      await Promise.all(open.map((agent) => agent.close()));
    },
  };
}

function agentUnder(policy: AddressPolicy, options: HttpTargetsOptions): Agent {
  return new Agent({
    // As many connections as there are calls: behind a bound those of one tenant that hang would hold
    // up the others at the same origin, and look like time-outs of theirs. What is called at once is
    // bounded by whoever calls.
    connections: null,
    connect: guardedConnector(
      policy,
      options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      options.lookUp,
    ),
    // The call's own deadline covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

type Answered = Extract<Exchanged, { kind: 'answered' }>;

async function callTarget(agent: Dispatcher, call: TargetCall): Promise<TargetReport> {
  const { origin, pathname, search } = new URL(call.url);
  const request: Dispatcher.DispatchOptions = {
    origin,
    path: `${pathname}${search}`,
    method: call.method ?? 'POST',
    headers: call.headers,
    body: call.body,
    // Tells the other side that no other request will come on it.
    reset: call.fresh === true,
  };
  const { timeoutMs, signal } = call;
  const limits = { capBytes: ANSWER_CAP_BYTES, timeoutMs, signal };
  const exchanged = await exchange(agent, request, limits);
  if (exchanged.kind === 'answered') return report(call, exchanged);
  return failure(exchanged.error, exchanged.timedOut, timeoutMs);
}

function report(call: TargetCall, { status, headers, body }: Answered): TargetReport {
  const retryAfter = headers['retry-after'];
  const checked = call.success === null ? null : checkBody(body, call.success);
  return {
    answer: {
      kind: 'answered',
      status,
      // Two header lines contradict each other: the profile alone decides.
      retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
      bodyAccepted: checked === null ? null : checked === 'passes',
      ...(checked === 'absent' ? { bodyUnclear: true } : {}),
    },
    detail: `the target answered ${status}`,
    answerSha256: hash('sha256', body, 'hex'),
    answerHead: headOf(body, call.redact),
  };
}

function headOf(body: Buffer, redact: TargetCall['redact']): string {
  const head =
    redact === undefined
      ? body.subarray(0, ANSWER_HEAD_BYTES).toString('utf8')
      : // All of it first: a secret may stand across the end of what is kept.
        redact(body.toString('utf8')).slice(0, ANSWER_HEAD_BYTES);
  // Postgres text holds no NUL.
  return head.replaceAll('\0', '\uFFFD');
}

function failure(error: unknown, timedOut: boolean, timeoutMs: number): TargetReport {
  const none = { answerSha256: null, answerHead: null };
  const refused = refusalOf(error);
  if (refused !== null) {
    const detail = `nothing was sent: ${refused.message}`;
    const forGood = refused.literal ? ({ forGood: true } as const) : {};
    return { answer: { kind: 'not_sent', reason: 'address_refused', ...forGood }, detail, ...none };
  }
  const { kind, code } = connectionFault(error);
  if (kind === 'refused') {
    const detail = 'the target refused the connection';
    return { answer: { kind: 'not_sent', reason: 'connection_refused' }, detail, ...none };
  }
  if (kind === 'unconnected') {
    const detail = `no connection to the target: ${code}`;
    return { answer: { kind: 'not_sent', reason: 'connection_failed' }, detail, ...none };
  }
  if (timedOut) {
    const detail = `no complete answer within ${timeoutMs} ms`;
    return { answer: { kind: 'lost', reason: 'timed_out' }, detail, ...none };
  }
  const detail = `the answer was lost${code === '' ? '' : `: ${code}`}`;
  return { answer: { kind: 'lost', reason: 'answer_lost' }, detail, ...none };
}

/** Several addresses are tried at once, or undici has put it into an error of its own. */
function refusalOf(error: unknown): AddressRefused | null {
  if (error instanceof AddressRefused) return error;
  return error instanceof Error && error.cause instanceof AddressRefused ? error.cause : null;
}
