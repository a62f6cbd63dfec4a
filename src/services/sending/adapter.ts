/** The port of the adapters that send: what each kind of operation has to say, and how it is attempted. */
import type { AttemptAnswer } from '../../domain/delivery-activities';
import type { DeliveryFacts, OpenedAttempt, SendingChain } from '../../schemas/delivery-rows';
import type { OutboundOperation } from '../../schemas/outbound';
import type { SendingMaterial } from '../../targets/vendor-request';
import type { ClosableAttempt } from '../attempt-closing';
import type { AttemptServices } from '../attempt-services';

/** An open attempt of something that is sent. */
export interface SendingAttempt extends ClosableAttempt {
  readonly info: DeliveryFacts & SendingChain & Pick<OpenedAttempt['info'], 'openedAt'>;
  readonly contentType: string | null;
  /** The stored bytes; null: they are unreadable. */
  readonly payload: Uint8Array | null;
  /** Nothing of it can have reached the vendor before. */
  readonly firstCall: boolean;
  /** From the reading of `info.now` to its deadline: others may take it for lost after that. */
  readonly endsInMs: number;
}

export interface SendingAdapter<Operation extends OutboundOperation> {
  /** Why the operation cannot be sent with this payload and configuration; null: it can. */
  readonly problem: (operation: Operation, material: SendingMaterial) => string | null;
  /** Makes the attempt and closes it, or leaves it open where what it has begun goes on. */
  readonly send: (
    services: AttemptServices,
    attempt: SendingAttempt & { readonly operation: Operation },
    signal: AbortSignal,
  ) => Promise<AttemptAnswer>;
  /** The vendor does the same request once, however often it gets it. */
  readonly resendable: (operation: Operation) => boolean;
}
