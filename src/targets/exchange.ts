/**
 * One request and its answer, on a connection of undici's. Its `request` makes a stream of each body and
 * an abort signal of each deadline, which takes three times the processor time of the call itself.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

export interface ExchangeLimits {
  /** Bytes of the answer that are read; reaching it closes the connection. */
  readonly capBytes: number;
  /** From connecting to the last byte read. */
  readonly timeoutMs: number;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

export type Exchanged =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      readonly body: Buffer;
    }
  | {
      readonly kind: 'failed';
      readonly error: unknown;
      /** Its time was over when it failed. */
      readonly timedOut: boolean;
    };

/** Resolves with whatever became of it; leaves nothing with the signal. */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  limits: ExchangeLimits,
): Promise<Exchanged> {
  return new Promise((resolve) => {
    const { signal, timeoutMs } = limits;
    const answer = new Answer(limits.capBytes, (exchanged) => {
      clearTimeout(deadline);
      signal.removeEventListener('abort', abort);
      resolve(exchanged);
    });
    const deadline = setTimeout(() => {
      answer.end('deadline');
    }, timeoutMs);
    const abort = () => {
      answer.end('aborted');
    };
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    try {
      dispatcher.dispatch(request, answer);
    } catch (error) {
      answer.fails(error);
    }
  });
}

type End = 'deadline' | 'aborted';

/** What undici tells of the request. */
class Answer implements Dispatcher.DispatchHandler {
  readonly #capBytes: number;
  readonly #settle: (exchanged: Exchanged) => void;
  #controller: Dispatcher.DispatchController | null = null;
  #ended: End | null = null;
  #head: Pick<Exchanged & { kind: 'answered' }, 'status' | 'headers'> = { status: 0, headers: {} };
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(capBytes: number, settle: (exchanged: Exchanged) => void) {
    this.#capBytes = capBytes;
    this.#settle = settle;
  }

  /** One that is not connected yet ends when it is; where it cannot be, it is known that nothing was sent. */
  end(why: End): void {
    this.#ended ??= why;
    this.#controller?.abort(new Error(why));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#ended !== null) controller.abort(new Error(this.#ended));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders) {
    // The last one counts: those of 1xx only announce it.
    this.#head = { status, headers };
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes < this.#capBytes) return;
    this.#answered();
    controller.abort(new Error('enough was read'));
  }

  onResponseEnd(): void {
    this.#answered();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.fails(error);
  }

  fails(error: unknown): void {
    this.#settle({ kind: 'failed', error, timedOut: this.#ended === 'deadline' });
  }

  #answered(): void {
    const body = Buffer.concat(this.#pieces).subarray(0, this.#capBytes);
    const { status, headers } = this.#head;
    this.#settle({ kind: 'answered', status, headers, body });
  }
}
