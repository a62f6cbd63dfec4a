/** Errors of the catalogue as statuses of gRPC. Faults of ours say nothing more, as over HTTP. */
import { Metadata, status, type StatusObject } from '@grpc/grpc-js';
import { errorCatalogue, WaybillError, type ErrorCode } from '../domain/errors';
import type { DeliverAnswer } from '../domain/sending';

/** A refusal that says why in a stable word, too. */
export class ReasonedRefusal extends WaybillError {
  readonly reason: string;

  constructor(code: ErrorCode, { reason, detail }: { reason: string; detail: string }) {
    super(code, detail);
    this.reason = reason;
  }
}

/** Nothing was stored, and nothing is sent. */
export class RefusedDelivery extends WaybillError {
  /** What an approval must name. */
  readonly requestDigest: string | undefined;

  constructor({ code, detail, field, requestDigest }: Extract<DeliverAnswer, { kind: 'refused' }>) {
    super(code, detail, field === undefined ? {} : { field });
    this.requestDigest = requestDigest;
  }
}

/** Beyond what the caller may call in a minute. */
export class TooManyCalls extends WaybillError {
  readonly resetS: number;

  constructor({ detail, resetS }: { readonly detail: string; readonly resetS: number }) {
    super('rate_limited', detail);
    this.resetS = resetS;
  }
}

/** Whatever was thrown, as a failure of the catalogue. */
export function failureOf(error: unknown): WaybillError {
  return error instanceof WaybillError ? error : new WaybillError('internal', '', { cause: error });
}

/** The status of a failure, with code, field and reason in its trailing metadata. */
export function statusOf(failure: WaybillError, requestId: string): StatusObject {
  const metadata = new Metadata();
  metadata.set('waybill-code', failure.code);
  metadata.set('waybill-retryable', String(failure.retryable));
  metadata.set('waybill-request-id', requestId);
  if (failure.field !== undefined) metadata.set('waybill-field', failure.field);
  if (failure instanceof ReasonedRefusal) metadata.set('waybill-reason', failure.reason);
  if (failure instanceof TooManyCalls) {
    // What clients with a retry policy obey (gRFC A6).
    metadata.set('grpc-retry-pushback-ms', String(failure.resetS * 1000));
  }
  if (failure instanceof RefusedDelivery && failure.requestDigest !== undefined) {
    metadata.set('waybill-request-digest', failure.requestDigest);
  }
  const { message } = errorCatalogue[failure.code];
  const silent = failure.code === 'internal' || failure.detail === '';
  return { code: codeOf(failure), details: silent ? message : failure.detail, metadata };
}

/** By the status that the same failure has over HTTP. */
function codeOf({ status: http }: WaybillError): status {
  switch (http) {
    case 400:
    case 422:
      return status.INVALID_ARGUMENT;
    case 401:
      return status.UNAUTHENTICATED;
    case 403:
      return status.PERMISSION_DENIED;
    case 404:
      return status.NOT_FOUND;
    case 409:
    case 410:
      return status.FAILED_PRECONDITION;
    case 413:
    case 429:
      return status.RESOURCE_EXHAUSTED;
    case 503:
      return status.UNAVAILABLE;
    default:
      return status.INTERNAL;
  }
}
