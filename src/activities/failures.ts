/** The one place where an error of the domain becomes a Temporal failure. */
import { ApplicationFailure } from '@temporalio/common';
import { WaybillError } from '../domain/errors';

/**
 * The failure's type is the catalogue code, so that a workflow can tell failures apart; anything
 * that has no code is a defect and keeps only its message.
 */
export function toFailure(error: unknown): ApplicationFailure {
  if (error instanceof WaybillError) {
    return ApplicationFailure.create({
      type: error.code,
      message: error.message,
      nonRetryable: !error.retryable,
    });
  }
  return ApplicationFailure.create({
    type: 'internal',
    message: error instanceof Error ? error.message.slice(0, 500) : 'unknown error',
  });
}
