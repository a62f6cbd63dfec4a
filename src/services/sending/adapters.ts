/**
 * The adapters that send, by the kind of the operation (docs/architecture, "Sending"). A new kind needs
 * its line here, and one in the documents of a fleet file.
 */
import type { AttemptAnswer } from '../../domain/delivery-activities';
import { unknownVerdict } from '../../domain/sending-verdicts';
import type { OutboundOperation } from '../../schemas/outbound';
import type { SendingMaterial } from '../../targets/vendor-request';
import { closeWithVerdict } from '../attempt-closing';
import type { AttemptServices } from '../attempt-services';
import { actionAdapter } from './action-adapter';
import type { SendingAdapter, SendingAttempt } from './adapter';
import { httpAdapter } from './http-adapter';

type Adapters = {
  readonly [Kind in OutboundOperation['kind']]: SendingAdapter<
    Extract<OutboundOperation, { kind: Kind }>
  >;
};

const ADAPTERS: Adapters = { http: httpAdapter, action: actionAdapter };

/** As the adapter of the operation's kind says. */
export function sendingProblem(
  operation: OutboundOperation,
  material: SendingMaterial,
): string | null {
  return adapterOf(operation).problem(operation, material);
}

/** Makes an attempt that was just opened. */
export async function send(
  services: AttemptServices,
  attempt: SendingAttempt,
  signal: AbortSignal,
): Promise<AttemptAnswer> {
  const { target: operation } = attempt.info;
  // One without an operation is failed before an attempt of it is opened.
  if (operation === null) throw new Error('an attempt was opened of an unknown operation');
  return adapterOf(operation).send(services, { ...attempt, operation }, signal);
}

/**
 * Goes on with an attempt that somebody else has opened: an action is followed by whoever comes, a call
 * is over with the worker that has made it.
 */
export async function meetSending(
  services: AttemptServices,
  attempt: SendingAttempt,
  { takeOver, signal }: { readonly takeOver: boolean; readonly signal: AbortSignal },
): Promise<AttemptAnswer> {
  const { info, endsInMs } = attempt;
  const { target: operation, targetId } = info;
  if (targetId.startsWith('action/')) {
    const known = operation?.kind === 'action' ? operation : GONE;
    return actionAdapter.send(services, { ...attempt, operation: known }, signal);
  }
  if (!takeOver && endsInMs > 0) return { kind: 'in_flight', attempt: attempt.attempt, endsInMs };
  // What was begun as something else is not the same request.
  const same = operation !== null && targetId.startsWith(`${operation.kind}/`);
  const resendable = info.onlyReads || (same && adapterOf(operation).resendable(operation));
  return closeWithVerdict(services, attempt, {
    verdict: unknownVerdict('worker_lost', { resendable }),
    detail: 'the worker was lost during the attempt; the vendor may have taken it',
    // Nothing is known against the vendor: the next attempt need not wait for it.
    immediate: true,
  });
}

/** Of an attempt whose operation is gone since: its action is met, and where there is none, none is started. */
const GONE = { kind: 'action', capabilityId: '', request: null, timeoutMs: 10_000 } as const;

function adapterOf(operation: OutboundOperation): SendingAdapter<OutboundOperation> {
  return ADAPTERS[operation.kind] as SendingAdapter<OutboundOperation>;
}
