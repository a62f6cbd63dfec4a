/**
 * Stands between a worker and a host, at the endpoint of the catalog: keeps what passes, and may answer
 * in the host's place.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { until } from './until';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly authorization: string;
  readonly body: Buffer;
}

export interface Passed extends Asked {
  /** The host's compact JWS; null: none came. */
  answer: string | null;
}

/** What is answered to a request; `pass` asks the host. */
type Answering = (asked: Asked, pass: () => Promise<string>) => Promise<string>;

/** A request that is on its way for long. */
export interface Gate {
  /** Resolves when it is there. */
  readonly arrived: Promise<void>;
  letGo(): void;
}

const HONEST: Answering = (_asked, pass) => pass();

export class RecordingProxy {
  readonly passed: Passed[] = [];
  /** Where the host is; changes with it. */
  upstream = '';
  answering: Answering = HONEST;
  readonly #server: Server;
  readonly #gates = new Map<string, (() => Promise<void>)[]>();

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request)
        .then((answer) => response.writeHead(200).end(answer))
        .catch(() => response.destroy());
    });
  }

  static async start(port: number): Promise<RecordingProxy> {
    const proxy = new RecordingProxy();
    await new Promise<void>((resolve) => proxy.#server.listen(port, '127.0.0.1', resolve));
    return proxy;
  }

  /** The first exchange of this kind about the action, from `from` on, with its answer. */
  async exchange(method: string, actionId: string, from = 0): Promise<Passed> {
    return await until(`a ${method} about ${actionId}`, () => {
      const found = this.passed
        .slice(from)
        .find((one) => one.method === method && one.path.includes(actionId) && one.answer !== null);
      return Promise.resolve(found);
    });
  }

  /** Keeps the next request about the action until it is let go. */
  hold(actionId: string): Gate {
    const arrived = deferred();
    const gone = deferred();
    const pass = (): Promise<void> => {
      arrived.resolve();
      return gone.promise;
    };
    this.#gates.set(actionId, [...(this.#gates.get(actionId) ?? []), pass]);
    return { arrived: arrived.promise, letGo: gone.resolve };
  }

  honest(): void {
    this.answering = HONEST;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage): Promise<string> {
    const passed: Passed = {
      method: request.method ?? '',
      path: request.url ?? '',
      authorization: request.headers.authorization ?? '',
      body: await buffer(request),
      answer: null,
    };
    this.passed.push(passed);
    const [, actionId = ''] = /^\/v1\/actions\/([^/]+)/.exec(passed.path) ?? [];
    await this.#gates.get(actionId)?.shift()?.();
    passed.answer = await this.answering(passed, () => send(this.upstream, passed));
    return passed.answer;
  }
}

/** Sends a request to a host; its answer's text. */
export async function send(
  host: string,
  { method, path, authorization, body }: Asked,
): Promise<string> {
  const response = await fetch(host + path, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    body: new Uint8Array(body),
  });
  return await response.text();
}

/** The claims of a compact JWS, unverified. */
export function claimsOf(jws: string): Readonly<Record<string, unknown>> {
  const [, payload = ''] = jws.replace(/^bearer /i, '').split('.');
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Readonly<
    Record<string, unknown>
  >;
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
