/**
 * The way between workers and one host, at the endpoint that the catalog has for it. It keeps what passes, and
 * may lose, cut or delay an answer, hold a request back, or answer in the host's name with a key of its own.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { decodeJwt, type JWTPayload } from 'jose';
import { request } from 'undici';
import { openOfPeer, signJson } from '../../hosts/protocol/jws';
import type { SigningKey } from '../../signing/keys';
import type { Conduct } from '../faults';

/** Longer than any answer of a host on its own, shorter than a worker waits. */
const SLOW_MS = 8_000;

/** A request of a worker to a host. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly authorization: string;
  readonly body: Buffer;
}

export class HostLink {
  readonly #server: Server;
  readonly #host: string;
  readonly #foreign: SigningKey;
  readonly #passed: Asked[] = [];
  #conduct: Conduct | null = null;

  private constructor(host: string, foreign: SigningKey) {
    this.#host = host;
    this.#foreign = foreign;
    this.#server = createServer((incoming, response) => {
      this.#serve(incoming)
        .then((answer) => {
          if (answer === null) response.destroy();
          else send(response, answer);
        })
        .catch(() => response.destroy());
    });
  }

  static async start(
    port: number,
    { host, foreign }: { readonly host: string; readonly foreign: SigningKey },
  ): Promise<HostLink> {
    const link = new HostLink(host, foreign);
    await new Promise<void>((resolve, reject) => {
      link.#server.once('error', reject);
      link.#server.listen(port, '127.0.0.1', resolve);
    });
    return link;
  }

  /** What it does with the next request to carry an action out; then it is honest again. */
  next(conduct: Conduct): void {
    this.#conduct = conduct;
  }

  /** The first request of this method about the action. */
  asked(method: string, actionId: string): Asked {
    const found = this.#passed.find((one) => one.method === method && one.path.includes(actionId));
    if (found === undefined) throw new Error(`no ${method} about ${actionId} has passed`);
    return found;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
    });
  }

  async #serve(incoming: IncomingMessage): Promise<HostReply | null> {
    const asked: Asked = {
      method: incoming.method ?? 'GET',
      path: incoming.url ?? '/',
      authorization: incoming.headers.authorization ?? '',
      body: await buffer(incoming),
    };
    this.#passed.push(asked);
    const conduct = asked.method === 'PUT' ? this.#conduct : null;
    if (conduct !== null) this.#conduct = null;
    if (conduct === 'late-request') return null;
    const answer = await sendToHost(this.#host, asked);
    if (conduct === 'lose-answer') return null;
    if (conduct === 'cut-answer') return { ...answer, cutAt: Math.ceil(answer.text.length / 2) };
    if (conduct === 'slow-answer') await delay(SLOW_MS);
    if (conduct === 'foreign-key') {
      const text = await signJson(decodeJwt(answer.text), 'waybill-host-answer', this.#foreign);
      return { ...answer, text };
    }
    return answer;
  }
}

export interface HostReply {
  readonly status: number;
  readonly text: string;
  /** Where the connection breaks; absent: nowhere. */
  readonly cutAt?: number;
}

function send(response: ServerResponse, { status, text, cutAt }: HostReply): void {
  response.writeHead(status, { 'content-length': Buffer.byteLength(text) });
  if (cutAt === undefined) response.end(text);
  else response.write(text.slice(0, cutAt), () => response.destroy());
}

export async function sendToHost(
  host: string,
  { method, path, authorization, body }: Asked,
): Promise<HostReply> {
  const response = await request(host + path, {
    method: method as 'PUT',
    headers: { authorization, 'content-type': 'application/json' },
    body: body.length === 0 ? null : body,
  });
  return { status: response.statusCode, text: await response.body.text() };
}

/** What a host's own signed answer says: `refused stale_fence`, `succeeded`; null: it is not the host's. */
export async function outcomeIn({ text }: HostReply, did: string): Promise<string | null> {
  const claims = await openOfPeer(text, 'waybill-host-answer', did);
  const { outcome } = (claims ?? {}) as JWTPayload & {
    readonly outcome?: { readonly kind: string; readonly refusal?: string };
  };
  if (outcome === undefined) return null;
  return outcome.refusal === undefined ? outcome.kind : `${outcome.kind} ${outcome.refusal}`;
}
