/** One way in for every method: its message is parsed once, its refusals become statuses. */
import type { handleUnaryCall } from '@grpc/grpc-js';
import type { z } from 'zod';
import { WaybillError } from '../domain/errors';
import { callerOf, type Caller } from './authorization';
import { logRefusal, type CallLog } from './call-log';
import type { GrpcDeps } from './deps';
import { failureOf, statusOf } from './refusals';

export interface Method<Schema extends z.ZodType, Response> {
  readonly name: string;
  readonly request: Schema;
  /** @param signal ends when nobody waits for the answer any more */
  readonly answer: (
    request: z.output<Schema>,
    caller: Caller,
    signal: AbortSignal,
  ) => Promise<Response>;
}

export function unary<Schema extends z.ZodType, Response>(
  { log }: GrpcDeps,
  method: Method<Schema, Response>,
): handleUnaryCall<unknown, Response> {
  return (call, send) => {
    const gone = new AbortController();
    call.on('cancelled', () => {
      gone.abort();
    });
    const caller = callerOf(call.metadata);
    const about: CallLog = { log, method: method.name, requestId: caller.requestId };
    const answered = async () =>
      await method.answer(parsed(method.request, call.request), caller, gone.signal);
    answered().then(
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
