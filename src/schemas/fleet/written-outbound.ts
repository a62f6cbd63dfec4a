/** What can be sent through a connector version, as people would write it. */
import { durationText } from '../durations';
import { Outbound, type ActionOperation, type HttpOperation } from '../outbound';

/** @param row of the catalog; undefined: nothing can be sent */
export function writtenOutbound(row: unknown): object | undefined {
  const outbound = Outbound.nullable().parse(row);
  if (outbound === null) return undefined;
  const all = Object.entries(outbound);
  const http = all.flatMap(([name, operation]) =>
    operation.kind === 'http' ? [[name, writtenHttp(operation)] as const] : [],
  );
  const action = all.flatMap(([name, operation]) =>
    operation.kind === 'action' ? [[name, writtenAction(operation)] as const] : [],
  );
  return {
    ...(http.length > 0 && { http: { operations: Object.fromEntries(http) } }),
    ...(action.length > 0 && { action: { operations: Object.fromEntries(action) } }),
  };
}

function writtenHttp(operation: HttpOperation): object {
  const { sideEffect, method, url, headers, body, auth, success } = operation;
  const { idempotencyHeader, idempotencyWindowMs, standardWebhooks, timeoutMs } = operation;
  const { statuses, body: check } = success;
  return {
    ...{ sideEffect, method, url },
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(body !== null && { body }),
    ...(auth !== null && { auth }),
    ...((statuses !== null || check !== null) && {
      success: {
        ...(statuses !== null && { status: statuses }),
        ...(check !== null && { body: check }),
      },
    }),
    ...(idempotencyHeader !== null && {
      idempotency: { header: idempotencyHeader, window: durationText(idempotencyWindowMs) },
    }),
    ...(standardWebhooks && { standardWebhooks }),
    timeout: durationText(timeoutMs),
  };
}

function writtenAction({ capabilityId, request }: ActionOperation): object {
  return { capability: capabilityId, ...(request !== null && { request }) };
}
