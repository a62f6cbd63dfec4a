/** A real HTTP target on loopback that records every request and answers as it is told. */
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export type Answer =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  /** Takes the request and never answers. */
  | 'hang'
  /** Takes the request and closes the connection. */
  | 'reset';

export class Receiver {
  readonly calls: ReceivedCall[] = [];
  /** The next answers, first one first; then `otherwise`. */
  readonly answers: Answer[] = [];
  otherwise: Answer = { status: 200, body: 'ok' };
  /** Decides by what was sent, where the test says so; null: as above. */
  decide: (call: ReceivedCall) => Answer | null = () => null;
  readonly #server: Server;
  readonly #waiting: (() => void)[] = [];

  private constructor() {
    this.#server = createServer((request, response) => {
      void this.#take(request, response);
    });
  }

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => {
      receiver.#server.listen(0, '127.0.0.1', resolve);
    });
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** Calls that carried this delivery id. */
  of(deliveryId: string): ReceivedCall[] {
    return this.calls.filter((call) => call.headers['waybill-delivery-id'] === deliveryId);
  }

  /** Resolves when this many calls have arrived in all. */
  async seen(count: number): Promise<void> {
    while (this.calls.length < count) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { url = '', headers } = request;
    const call = { path: url, headers, body: Buffer.concat(chunks) };
    this.calls.push(call);
    const answer = this.decide(call) ?? this.answers.shift() ?? this.otherwise;
    for (const wake of this.#waiting.splice(0)) wake();
    if (answer === 'hang') return;
    if (answer === 'reset') {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, answer.headers ?? {});
    response.end(answer.body ?? '');
  }
}
