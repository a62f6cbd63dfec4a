/** Reading a request's raw body under a limit, and being rid of what is not read. */
import type { IncomingMessage } from 'node:http';
import { WaybillError } from '../domain/errors';
import type { BodyBudget } from './body-budget';

/** What is still taken from a sender after its answer, so that it can read the answer. */
const DISCARD_BYTES = 16_777_216;
const DISCARD_MS = 2_000;

export interface BodyLimits {
  readonly limitBytes: number;
  readonly idleMs: number;
  /** The bytes that are answered have been taken from it: give them back once they are done with. */
  readonly budget: BodyBudget;
}

/**
 * The whole body as bytes, whatever it holds and says to be.
 * @throws WaybillError `body_too_large` as soon as the limit is passed, or announced to be;
 *   `body_incomplete` when the sender stops before the end; `overloaded` when the budget is used up
 */
export function readBody(
  request: IncomingMessage,
  { limitBytes, idleMs, budget }: BodyLimits,
): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) {
    return Promise.reject(tooLarge(limitBytes));
  }
  return new Promise((done, fail) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    const idle = setTimeout(() => {
      refuse(new WaybillError('body_incomplete', 'The body did not go on for too long.'));
    }, idleMs);
    function take(piece: Buffer): void {
      idle.refresh();
      if (bytes + piece.length > limitBytes) {
        refuse(tooLarge(limitBytes));
        return;
      }
      if (!budget.take(piece.length)) {
        refuse(new WaybillError('overloaded'));
        return;
      }
      bytes += piece.length;
      pieces.push(piece);
    }
    function finish(): void {
      settle();
      done(Buffer.concat(pieces, bytes));
    }
    function cut(): void {
      refuse(new WaybillError('body_incomplete'));
    }
    function refuse(error: WaybillError): void {
      settle();
      budget.give(bytes);
      fail(error);
    }
    function settle(): void {
      clearTimeout(idle);
      request.off('data', take).off('end', finish).off('close', cut);
    }
    // A broken connection is told by `close`; without a listener `error` would end the process.
    request.on('error', () => undefined);
    request.on('data', take).on('end', finish).on('close', cut);
    if (request.destroyed) cut();
  });
}

/**
 * Lets a body that nobody wants flow away for a short while: to close at once would reset the
 * connection under a sender that has not read its answer yet. Then the connection is cut.
 */
export function discardBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  const { socket } = request;
  let bytes = 0;
  const late = setTimeout(() => request.destroy(), DISCARD_MS);
  function count(piece: Buffer): void {
    bytes += piece.length;
    if (bytes > DISCARD_BYTES) request.destroy();
  }
  // An answered request is not told when its connection breaks: the socket is.
  function stop(): void {
    clearTimeout(late);
    request.off('data', count).off('end', stop);
    socket.off('close', stop);
  }
  request.on('error', () => undefined);
  request.on('data', count).on('end', stop);
  socket.on('close', stop);
}

function tooLarge(limitBytes: number): WaybillError {
  return new WaybillError('body_too_large', `The limit of this ingress is ${limitBytes} bytes.`);
}
