/**
 * One HTTP call to a target. Redirects are never followed, the answer is read up to a cap, and one
 * deadline covers everything from connecting to the last byte read.
 */
import { createHash } from 'node:crypto';
import { Agent, request } from 'undici';
import type { Dispatcher } from 'undici';
import type { HttpAnswer } from '../domain/attempts';
import { connectionFault } from '../domain/connection-errors';
import type { SuccessCheck } from '../schemas/targets';
import { bodyPasses } from './success-check';

/** Bytes of an answer that are read; what follows is left unread. */
const ANSWER_CAP_BYTES = 64 * 1024;
/** Bytes of an answer that are kept for people. */
const ANSWER_HEAD_BYTES = 1024;
const CONNECT_TIMEOUT_MS = 5_000;

export interface TargetCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly timeoutMs: number;
  readonly success: SuccessCheck | null;
  /** Aborts the call early; the answer is then lost. */
  readonly signal: AbortSignal;
}

export interface TargetReport {
  readonly answer: HttpAnswer;
  /** One sentence for people, without addresses' credentials or bodies. */
  readonly detail: string;
  readonly answerSha256: string | null;
  readonly answerHead: string | null;
}

export type CallTarget = (call: TargetCall) => Promise<TargetReport>;

/** A pool of connections to targets, and the call that uses it. */
export function httpTargets(options: { readonly connectionsPerOrigin: number }): {
  readonly call: CallTarget;
  close(): Promise<void>;
} {
  const agent = new Agent({
    connections: options.connectionsPerOrigin,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    // The call's own deadline covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return { call: (call) => callTarget(agent, call), close: () => agent.close() };
}

async function callTarget(agent: Dispatcher, call: TargetCall): Promise<TargetReport> {
  const deadline = AbortSignal.timeout(call.timeoutMs);
  const signal = AbortSignal.any([deadline, call.signal]);
  try {
    const response = await request(call.url, {
      method: 'POST',
      dispatcher: agent,
      headers: call.headers,
      body: call.body,
      signal,
    });
    const body = await readCapped(response.body);
    return report(call, response, body);
  } catch (error) {
    return failure(error, deadline.aborted, call.timeoutMs);
  }
}

function report(call: TargetCall, response: Dispatcher.ResponseData, body: Buffer): TargetReport {
  const retryAfter = response.headers['retry-after'];
  return {
    answer: {
      kind: 'answered',
      status: response.statusCode,
      // Two header lines contradict each other: the profile alone decides.
      retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
      bodyAccepted: call.success === null ? null : bodyPasses(body, call.success),
    },
    detail: `the target answered ${response.statusCode}`,
    answerSha256: createHash('sha256').update(body).digest('hex'),
    // Postgres text holds no NUL.
    answerHead: body.subarray(0, ANSWER_HEAD_BYTES).toString('utf8').replaceAll('\0', '\uFFFD'),
  };
}

async function readCapped(body: Dispatcher.ResponseData['body']): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop destroys the stream, and with it the connection.
    if (size >= ANSWER_CAP_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, ANSWER_CAP_BYTES);
}

function failure(error: unknown, timedOut: boolean, timeoutMs: number): TargetReport {
  const none = { answerSha256: null, answerHead: null };
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
