/**
 * A peer that answers as Vault's versioned key-value engine does: statuses and bodies are those of
 * Vault's API documentation (KV v2, "Read secret version") and of its issue tracker (a deleted version
 * is 404 with its metadata). It writes down what it was asked.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

interface Version {
  readonly data: Readonly<Record<string, unknown>>;
  gone: 'deleted' | 'destroyed' | null;
}

export interface VaultRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
}

export class VaultPeer {
  readonly requests: VaultRequest[] = [];
  /** Who may read, and of which namespace; everybody else is refused. */
  token = 'hvs.valid';
  namespace: string | undefined;
  sealed = false;
  /** Takes connections and answers nothing. */
  silent = false;
  /** A body that is answered in place of the right one. */
  instead: { readonly status: number; readonly body: string; readonly location?: string } | null =
    null;
  readonly #versions = new Map<string, Version[]>();
  readonly #server;

  private constructor(tls: { readonly cert: Buffer; readonly key: Buffer } | null) {
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      this.#answer(request, response);
    };
    this.#server = tls === null ? createServer(answer) : createTlsServer(tls, answer);
  }

  static async start(
    tls: { readonly cert: Buffer; readonly key: Buffer } | null = null,
  ): Promise<VaultPeer> {
    const peer = new VaultPeer(tls);
    await new Promise<void>((done) => peer.#server.listen(0, '127.0.0.1', done));
    return peer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** A new version of `mount/path`. */
  put(place: string, data: Version['data']): void {
    this.#versions.set(place, [...(this.#versions.get(place) ?? []), { data, gone: null }]);
  }

  /** Of the newest version. */
  remove(place: string, how: 'deleted' | 'destroyed'): void {
    const newest = this.#versions.get(place)?.at(-1);
    if (newest !== undefined) newest.gone = how;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((done) => {
      this.#server.close(() => {
        done();
      });
    });
  }

  #answer({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
    this.requests.push({ path: url, headers });
    if (this.silent) return;
    const send = (status: number, body: unknown) => {
      response.writeHead(status, {
        'cache-control': 'no-store',
        'content-type': 'application/json',
      });
      response.end(typeof body === 'string' ? body : `${JSON.stringify(body)}\n`);
    };
    if (this.instead !== null) {
      const { location } = this.instead;
      if (location !== undefined) response.setHeader('location', location);
      send(this.instead.status, this.instead.body);
    } else if (this.sealed) send(503, { errors: ['Vault is sealed'] });
    else if (
      headers['x-vault-token'] !== this.token ||
      headers['x-vault-namespace'] !== this.namespace
    ) {
      send(403, { errors: ['1 error occurred:\n\t* permission denied\n\n'] });
    } else this.#read(decodeURIComponent(url), send);
  }

  #read(url: string, send: (status: number, body: unknown) => void): void {
    const [, mount = '', path = ''] = /^\/v1\/([^/]+)\/data\/(.+)$/.exec(url) ?? [];
    const versions = this.#versions.get(`${mount}/${path}`) ?? [];
    const newest = versions.at(-1);
    if (newest === undefined) {
      send(404, { errors: [] });
      return;
    }
    const metadata = {
      created_time: '2026-01-31T12:00:00.123456789Z',
      custom_metadata: null,
      deletion_time: newest.gone === 'deleted' ? '2026-01-31T12:05:00.123456789Z' : '',
      destroyed: newest.gone === 'destroyed',
      version: versions.length,
    };
    send(newest.gone === null ? 200 : 404, {
      ...{ request_id: 'bf7bb5df-33ae-3c20-3479-93b3c4079fa3', lease_id: '', renewable: false },
      ...{ lease_duration: 0, wrap_info: null, warnings: null, auth: null, mount_type: 'kv' },
      data: { data: newest.gone === null ? newest.data : null, metadata },
    });
  }
}
