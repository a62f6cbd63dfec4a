/**
 * A host with one flaw: a front before an honest host of the kit, in this process and over real
 * sockets. Where the flaw wants it, the front has the honest host believe another token, or says
 * something else with the host's signature.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type {
  HostAnswerClaims,
  HostVerdict,
  RouteToken,
  TokenPurpose,
} from '../../../src/domain/host-protocol';
import type { Host } from '../../../src/hosts/kit/host';
import { openWithKeys, sha256Hex, signJson } from '../../../src/hosts/protocol/jws';
import type { SigningKey } from '../../../src/signing/keys';
import { IDENTITY, INCARNATION, ISSUER, trustIn } from '../../hosts/support/fixtures';
import type { SandboxKeys } from './sandbox';

export interface FlawedCall {
  readonly purpose: TokenPurpose;
  /** Of the path. */
  readonly action: string;
  readonly body: string;
  /** What the token says, whoever signed it; null: there is none that can be read. */
  readonly token: RouteToken | null;
  readonly typ: string;
  /** Whether it is rightly signed. */
  readonly believed: boolean;
}

export interface Asked {
  readonly purpose?: TokenPurpose;
  readonly claims?: Partial<RouteToken>;
  readonly body?: string;
}

export interface Flaw {
  /** Has the honest host do something else; null: it gets the call as it came. */
  readonly launder?: (call: FlawedCall) => Asked | null;
  /** Says something else, or asks first. Undefined: nothing else. */
  readonly answer?: (
    call: FlawedCall,
    honest: FlawedHost,
  ) => Promise<HostVerdict | undefined> | HostVerdict | undefined;
  /** What it says in the place of the honest answer. */
  readonly after?: (call: FlawedCall, verdict: HostVerdict) => HostVerdict;
  readonly page?: (path: string, text: string) => string;
  readonly key?: (keys: SandboxKeys) => SigningKey;
}

const PATH = /^\/v1\/actions\/([^/]+?)(?:\/(reconcile|cancel))?$/;

export interface FrontKeys {
  readonly keys: SandboxKeys;
  /** The honest host believes tokens of it: the front's own ones. */
  readonly inner: SigningKey;
}

export class FlawedHost {
  readonly #server: Server;
  readonly honest: Host;
  readonly flaw: Flaw;
  readonly keys: SandboxKeys;
  readonly inner: SigningKey;

  constructor(honest: Host, flaw: Flaw, { keys, inner }: FrontKeys) {
    this.honest = honest;
    this.flaw = flaw;
    this.keys = keys;
    this.inner = inner;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Has the honest host do this, by a token that it believes. */
  async ask(call: FlawedCall, { purpose = call.purpose, claims, body }: Asked = {}) {
    const text = body ?? (purpose === 'read' ? '' : call.body);
    const nowS = Math.floor(Date.now() / 1000);
    const token = {
      ...{ ...TEMPLATE, ...call.token, action: call.action, purpose, iat: nowS, exp: nowS + 60 },
      ...{ iss: ISSUER, aud: this.honest.did, jti: randomUUID(), body_sha256: sha256Hex(text) },
      manifest_digest: this.honest.manifestDigest,
      ...claims,
    };
    const jws = await signJson(token, 'waybill-route', this.inner);
    const answer = await this.#forward(
      { ...call, purpose, action: token.action, body: text },
      `Bearer ${jws}`,
    );
    return claimsOf(answer.text);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, action, verb] = PATH.exec(request.url ?? '') ?? [];
    if (action === undefined) {
      await this.#page(request.url ?? '', response);
      return;
    }
    const call = await this.#callOf(request, { action, verb });
    const asked = this.flaw.launder?.(call) ?? null;
    const own = await this.flaw.answer?.(call, this);
    if (asked === null && own === undefined && this.flaw.key === undefined) {
      const { authorization = '' } = request.headers;
      const { status, text } = await this.#forward(call, authorization);
      response.writeHead(status).end(await this.#after(call, text));
      return;
    }
    const claims = await this.ask(call, own === undefined ? (asked ?? {}) : { purpose: 'read' });
    response.writeHead(200).end(await this.#signed(request, call, { claims, own }));
  }

  async #after(call: FlawedCall, text: string): Promise<string> {
    const { after } = this.flaw;
    const claims = after === undefined ? null : payloadOf(text);
    if (after === undefined || claims === null) return text;
    const honest = claims as HostAnswerClaims;
    const outcome = after(call, honest.outcome);
    return await signJson({ ...honest, outcome }, 'waybill-host-answer', this.keys.host);
  }

  async #signed(
    request: IncomingMessage,
    call: FlawedCall,
    { claims, own }: { readonly claims: HostAnswerClaims; readonly own: HostVerdict | undefined },
  ): Promise<string> {
    const { token } = call;
    const compact = (request.headers.authorization ?? '').replace('Bearer ', '');
    const answer = {
      ...claims,
      ...{ in_reply_to: token?.jti ?? null, tenant: token?.tenant ?? null },
      ...{ action: token?.action ?? null, fence: token?.fence ?? null },
      ...{ token_sha256: sha256Hex(compact), body_sha256: sha256Hex(call.body) },
      outcome: own ?? claims.outcome,
    };
    const key = this.flaw.key?.(this.keys) ?? this.keys.host;
    return await signJson(answer, 'waybill-host-answer', key);
  }

  async #callOf(
    request: IncomingMessage,
    { action, verb }: { readonly action: string; readonly verb: string | undefined },
  ): Promise<FlawedCall> {
    const body = (await buffer(request)).toString('utf8');
    const compact = (request.headers.authorization ?? '').replace('Bearer ', '');
    const typ = typOf(compact);
    const trusted = await openWithKeys(compact, typ, trustIn(this.keys.waybill).keys);
    const byMethod = request.method === 'PUT' ? 'execute' : 'read';
    return {
      purpose: verb === 'reconcile' || verb === 'cancel' ? verb : byMethod,
      ...{ action, body, typ, believed: trusted !== null },
      token: compact === '' ? null : (payloadOf(compact) as RouteToken),
    };
  }

  async #page(path: string, response: ServerResponse): Promise<void> {
    const honest = await fetch(this.honest.url + path);
    const text = await honest.text();
    response.writeHead(honest.status).end(this.flaw.page?.(path, text) ?? text);
  }

  async #forward(
    { purpose, action, body }: FlawedCall,
    authorization: string,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const tail = purpose === 'reconcile' || purpose === 'cancel' ? `/${purpose}` : '';
    const method = { execute: 'PUT', read: 'GET', reconcile: 'POST', cancel: 'POST' }[purpose];
    const answer = await fetch(`${this.honest.url}/v1/actions/${action}${tail}`, {
      ...{ method, body: purpose === 'read' ? null : body },
      headers: { authorization, 'content-type': 'application/json' },
    });
    return { status: answer.status, text: await answer.text() };
  }
}

const TEMPLATE = {
  ...{ tenant: IDENTITY.tenantId, capability: 'notes.create', connector: IDENTITY.connectorId },
  ...{ instance: IDENTITY.instanceId, version: IDENTITY.version, replica: IDENTITY.replicaId },
  ...{ incarnation: INCARNATION, store_epoch: null, sent_ago_ms: null, begin_anew: false },
  topology: { region: '', zone: '', capacityClass: '' },
  ...{ fence: 1, catalog_revision: 0, binding_policy_revision: 1, credential_revision: '7' },
  ...{ quota_policy: null, approval: null },
};

function typOf(compact: string) {
  const header = payloadOf(`.${compact.split('.')[0] ?? ''}`) as { typ?: 'waybill-route' } | null;
  return header?.typ ?? 'waybill-route';
}

function claimsOf(jws: string): HostAnswerClaims {
  return payloadOf(jws) as HostAnswerClaims;
}

function payloadOf(compact: string): unknown {
  try {
    return JSON.parse(Buffer.from(compact.split('.')[1] ?? '', 'base64url').toString('utf8'));
  } catch {
    return null;
  }
}
