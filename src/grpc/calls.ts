/** One way in for every method: its message is parsed once, its refusals become statuses. */
import type { handleUnaryCall } from '@grpc/grpc-js';
import type { z } from 'zod';
import { WaybillError } from '../domain/errors';
import { untilFirst } from '../domain/signals';
import { callerOf, type Caller } from './authorization';
import { logRefusal, type CallLog } from './call-log';
import { DEFAULT_LIMITS, type GrpcDeps } from './deps';
import { failureOf, statusOf } from './refusals';

export interface Method<Schema extends z.ZodType, Response> {
  readonly name: string;
  readonly request: Schema;
  readonly answer: (
    request: z.output<Schema>,
    caller: Caller,
    waiting: Waiting,
  ) => Promise<Response>;
}

/** How long somebody waits for the answer. */
export interface Waiting {
  /** Ends when nobody does any more, or the server ends. */
  readonly signal: AbortSignal;
  /** As the call's deadline and ours say. */
  readonly remainingMs: number;
}

/** @param closing ends when the server does */
export function unary<Schema extends z.ZodType, Response>(
  { log, limits = DEFAULT_LIMITS }: GrpcDeps,
  method: Method<Schema, Response>,
  closing: AbortSignal,
): handleUnaryCall<unknown, Response> {
  return (call, send) => {
    const gone = new AbortController();
    call.on('cancelled', () => {
      gone.abort();
    });
    const caller = callerOf(call.metadata);
    const about: CallLog = { log, method: method.name, requestId: caller.requestId };
    const remainingMs = Math.min(limits.callMs, Number(call.getDeadline()) - Date.now());
    const answered = untilFirst([gone.signal, closing], async (signal) => {
      const request = parsed(method.request, call.request);
      return await method.answer(request, caller, { signal, remainingMs });
    });
    answered.then(
      (response) => {
        log.debug({ requestId: caller.requestId, method: method.name }, 'answered');
        send(null, response);
      },
      (error: unknown) => {
        const failure = failureOf(error);
        logRefusal(about, failure);
        send(statusOf(failure, caller.requestId));
      },
    );
  };
}

/** @throws WaybillError `invalid_request` naming the field as the .proto writes it */
function parsed<Schema extends z.ZodType>(schema: Schema, message: unknown): z.output<Schema> {
  const result = schema.safeParse(message);
  if (result.success) return result.data;
  const [first] = result.error.issues;
  const path = (first?.path ?? []).map(String).join('.');
  const field = path.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  throw new WaybillError('invalid_request', `${field}: ${first?.message ?? 'is wrong'}`, { field });
}
