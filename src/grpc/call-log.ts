/** What the log holds of calls: no token, no message. */
import type { Logger } from 'pino';
import type { WaybillError } from '../domain/errors';
import { describeError } from '../http/problems';

export interface CallLog {
  readonly log: Logger;
  readonly method: string;
  readonly requestId: string;
}

/** Faults of ours as errors with their cause, a caller's for those who look closely. */
export function logRefusal({ log, method, requestId }: CallLog, failure: WaybillError): void {
  const { code } = failure;
  if (failure.status < 500) log.debug({ requestId, method, code }, 'refused');
  else {
    const cause = describeError(failure.cause ?? failure);
    log.error({ requestId, method, code, cause }, 'request failed');
  }
}
