/**
 * The target of the example fleet: takes deliveries on loopback, checks their signature, remembers
 * them, and answers as it was told. Its records are the outside view of what Waybill sent.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { WaybillError } from '../domain/errors';
import { jsonOf } from '../schemas/json-bytes';
import {
  ANSWERS_PATH,
  RECORDS_PATH,
  ReceiverAnswer,
  type ReceiverRecord,
} from './receiver-records';
import { isSigned } from './standard-webhooks';

export interface ReceiverOptions {
  /** 0: any free one. */
  readonly port: number;
  /** Standard Webhooks secrets, any of which may have signed. */
  readonly secrets: readonly string[];
}

export interface RunningReceiver {
  readonly url: string;
  stop(): Promise<void>;
}

/** Older ones are forgotten. */
const KEPT_RECORDS = 10_000;

/** Starts it on 127.0.0.1; resolves once it listens. */
export async function startReceiver(options: ReceiverOptions): Promise<RunningReceiver> {
  const receiver = new Receiver(options.secrets);
  const server = createServer((request, response) => {
    receiver.handle(request, response).catch(() => {
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      reject(taken(options.port, error));
    });
    server.listen(options.port, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

function taken(port: number, error: Error): Error {
  if (!('code' in error && error.code === 'EADDRINUSE')) return error;
  const detail = `port ${port} on 127.0.0.1 is taken; choose another one with --port`;
  return new WaybillError('port_in_use', detail, { cause: error });
}

class Receiver {
  readonly #secrets: readonly string[];
  readonly #records: ReceiverRecord[] = [];
  /** Statuses of paths that do not answer 200. */
  readonly #answers = new Map<string, number>();

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://receiver');
    const body = await buffer(request);
    switch (`${request.method ?? ''} ${url.pathname}`) {
      case 'GET /ready':
        answerJson(response, 200, { ready: true });
        return;
      case `GET ${RECORDS_PATH}`:
        answerJson(response, 200, { records: this.#recordsOf(url.searchParams.get('deliveryId')) });
        return;
      case `PUT ${ANSWERS_PATH}`:
        this.#setAnswer(body, response);
        return;
      default:
        this.#take(request, { path: url.pathname, body }, response);
    }
  }

  #recordsOf(deliveryId: string | null): ReceiverRecord[] {
    if (deliveryId === null) return this.#records;
    return this.#records.filter((record) => record.deliveryId === deliveryId);
  }

  #setAnswer(body: Buffer, response: ServerResponse): void {
    const parsed = ReceiverAnswer.safeParse(jsonOf(body));
    if (!parsed.success) {
      answerJson(response, 400, { error: 'write {"path": "/…", "status": 200–599 or null}' });
      return;
    }
    const { path, status } = parsed.data;
    if (status === null) this.#answers.delete(path);
    else this.#answers.set(path, status);
    answerJson(response, 200, { path, status });
  }

  #take(
    request: IncomingMessage,
    { path, body }: { readonly path: string; readonly body: Buffer },
    response: ServerResponse,
  ): void {
    const header = (name: string) => {
      const value = request.headers[name];
      return typeof value === 'string' ? value : '';
    };
    const signed = {
      id: header('webhook-id'),
      timestamp: header('webhook-timestamp'),
      signature: header('webhook-signature'),
    };
    const verified = isSigned({ ...signed, body }, this.#secrets, Date.now());
    const status = verified ? (this.#answers.get(path) ?? 200) : 401;
    this.#remember({
      path,
      deliveryId: header('waybill-delivery-id') || null,
      eventType: header('waybill-event-type') || null,
      attempt: numberOf(header('waybill-attempt')),
      replay: numberOf(header('waybill-replay')),
      signature: verified ? 'verified' : 'refused',
      bytes: body.length,
      sha256: createHash('sha256').update(body).digest('hex'),
      status,
      at: new Date().toISOString(),
    });
    answerJson(response, status, { ok: status < 300 });
  }

  #remember(record: ReceiverRecord): void {
    this.#records.push(record);
    if (this.#records.length > KEPT_RECORDS) this.#records.shift();
  }
}

function answerJson(response: ServerResponse, status: number, content: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(content));
}

function numberOf(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null;
}
