/**
 * The client that talks to hosts (docs/host-protocol). It goes to the assigned endpoint only, believes
 * the assigned peer's key only, and says of each call what is known, what is proven and what is lost.
 */
import type {
  HostManifest,
  RefusedAnswer,
  RouteTokenClaims,
  TokenPurpose,
} from '../domain/host-protocol';
import { MAX_RETRY_AFTER_MS, type RouteAssignment } from '../domain/routes';
import { HostHealth, HostManifestSchema, HostReadiness } from '../schemas/host-messages';
import { jsonOf } from '../schemas/json-bytes';
import type { SigningKey } from '../signing/keys';
import { exchange, hostAgent, type Exchanged } from './client/exchange';
import type { HostResult } from './client/results';
import { openAnswer, type OpenedAnswer } from './protocol/answers';
import { sha256Hex } from './protocol/jws';
import {
  ANSWER_LIMIT_BYTES,
  JOSE_TYPE,
  MANIFEST_LIMIT_BYTES,
  REQUEST_LIMIT_BYTES,
  actionRequest,
} from './protocol/limits';
import { signRouteToken } from './protocol/route-tokens';

export interface HostClientOptions {
  readonly issuer: string;
  readonly key: SigningKey;
  /** The database's clock, carried on by a monotonic one. */
  readonly nowMs: () => number;
  readonly newJti: () => string;
  readonly connectionsPerHost: number;
}

/** A call about one action on its retained route. */
export interface HostCall {
  readonly route: RouteAssignment;
  readonly fence: number;
  /** The replica's incarnation now; to an `execute` that of its reservation. */
  readonly incarnation: number;
  /** The host's memory when the action was first sent to it; null before that. */
  readonly storeEpoch: string | null;
  /** How long ago the action was last sent to a host, by the database's clock; null: never. */
  readonly sentAgoMs: number | null;
  /** A person is certain that what was begun before had no effect: an `execute` begins anew. */
  readonly beginAnew: boolean;
  readonly approval: string | null;
  /**
   * The token expires then, in milliseconds since the epoch on the database's clock: of an `execute` at
   * the attempt's deadline, of a `reconcile` or `cancel` the capability's time-out and 5 s after it was
   * begun. An instant, so that a process that was frozen for a while does not send a token that is good
   * for longer.
   */
  readonly expiresAtMs: number;
  /** One deadline over connecting, sending, waiting and reading. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Of what a host says about itself, unsigned. */
export type HostPage<Value> =
  | { readonly kind: 'read'; readonly value: Value }
  | { readonly kind: 'unreadable'; readonly detail: string };

export type EndpointCall = Pick<RouteAssignment, 'endpoint' | 'transportProfile'> &
  Pick<HostCall, 'timeoutMs' | 'signal'>;

export interface HostClient {
  /** `body` is the request's JSON, byte by byte the same in every try. */
  execute(call: HostCall, body: Uint8Array): Promise<HostResult>;
  /**
   * `fence` is above every one given out for the action; nothing below it is begun any more. `body` is
   * the request: only for a store that was not there when the action was sent, which `storeEpoch` then
   * names. That store takes the action on and looks for its effect; its refusals are no proof.
   */
  reconcile(call: HostCall, body?: Uint8Array): Promise<HostResult>;
  /** As `reconcile`; what has not begun never will. */
  cancel(call: HostCall): Promise<HostResult>;
  /** Changes nothing, not even the fence. */
  read(call: HostCall): Promise<HostResult>;
  /** With the digest of the bytes that came. */
  manifest(at: EndpointCall): Promise<HostPage<{ manifest: HostManifest; digest: string }>>;
  health(at: EndpointCall): Promise<HostPage<'alive'>>;
  ready(at: EndpointCall): Promise<HostPage<HostReadiness>>;
  close(): Promise<void>;
}

const NO_BODY = Buffer.alloc(0);
const NO_BODY_SHA256 = sha256Hex(NO_BODY);

export function createHostClient(options: HostClientOptions): HostClient {
  const agent = hostAgent(options.connectionsPerHost);
  const send: Send = async (call, purpose, body) => {
    if (body.byteLength > REQUEST_LIMIT_BYTES) {
      const detail = `the request has ${body.byteLength} bytes, a host takes ${REQUEST_LIMIT_BYTES}`;
      return { kind: 'not_sent', reason: 'request_too_large', detail };
    }
    const jti = options.newJti();
    const claims = claimsOf(call, purpose, sha256Hex(body));
    const token = await sign(options, { call, claims, jti });
    const answered = await exchange(agent, {
      endpoint: call.route,
      ...actionRequest(purpose, call.route.actionId),
      headers: { authorization: `Bearer ${token}`, ...ACCEPTED },
      body: purpose === 'read' ? null : body,
      limitBytes: ANSWER_LIMIT_BYTES,
      timeoutMs: call.timeoutMs,
      signal: call.signal,
    });
    return answered.kind === 'received'
      ? await judge(answered.body, { call, claims, jti, token })
      : answered;
  };
  const page = async (at: EndpointCall, path: string): Promise<Exchanged> =>
    await exchange(agent, {
      endpoint: at,
      method: 'GET',
      path,
      headers: {},
      body: null,
      limitBytes: MANIFEST_LIMIT_BYTES,
      timeoutMs: at.timeoutMs,
      signal: at.signal,
    });
  return {
    execute: (call, body) => send(call, 'execute', body),
    reconcile: (call, body = NO_BODY) => send(call, 'reconcile', body),
    cancel: (call) => send(call, 'cancel', NO_BODY),
    read: (call) => send(call, 'read', NO_BODY),
    manifest: async (at) =>
      readPage(await page(at, '/v1/manifest'), (json, bytes) => {
        const manifest = HostManifestSchema.safeParse(json);
        return manifest.success ? { manifest: manifest.data, digest: sha256Hex(bytes) } : null;
      }),
    health: async (at) =>
      readPage(
        await page(at, '/health'),
        (json) => HostHealth.safeParse(json).data?.status ?? null,
      ),
    ready: async (at) =>
      readPage(await page(at, '/ready'), (json) => HostReadiness.safeParse(json).data ?? null),
    close: () => agent.close(),
  };
}

type Send = (call: HostCall, purpose: TokenPurpose, body: Uint8Array) => Promise<HostResult>;

const ACCEPTED = { 'content-type': 'application/json', accept: JOSE_TYPE } as const;

function claimsOf(call: HostCall, purpose: TokenPurpose, bodySha256: string): RouteTokenClaims {
  const { route } = call;
  return {
    tenant: route.tenantId,
    action: route.actionId,
    capability: route.capabilityId,
    connector: route.connectorId,
    instance: route.instanceId,
    version: route.version,
    manifest_digest: route.manifestDigest,
    replica: route.replicaId,
    incarnation: call.incarnation,
    store_epoch: call.storeEpoch,
    begin_anew: call.beginAnew,
    sent_ago_ms: call.sentAgoMs === null ? null : Math.max(0, Math.floor(call.sentAgoMs)),
    topology: route.topology,
    fence: call.fence,
    catalog_revision: route.catalogRevision,
    binding_policy_revision: route.bindingPolicyRevision,
    credential_revision: route.credentialRevision,
    quota_policy: route.quotaPolicyId,
    approval: call.approval,
    purpose,
    body_sha256: bodySha256,
  };
}

interface Sent {
  readonly call: HostCall;
  readonly claims: RouteTokenClaims;
  readonly jti: string;
}

async function sign(
  { issuer, key, nowMs }: HostClientOptions,
  { call, claims, jti }: Sent,
): Promise<string> {
  const { route, expiresAtMs } = call;
  const frame = { issuer, audience: route.peerDid, jti, issuedAtMs: nowMs(), expiresAtMs };
  return await signRouteToken(claims, frame, key);
}

async function judge(body: Buffer, sent: Sent & { readonly token: string }): Promise<HostResult> {
  const { call, claims } = sent;
  const opened = await openAnswer(body.toString('latin1'), {
    peerDid: call.route.peerDid,
    jti: sent.jti,
    tenant: claims.tenant,
    action: claims.action,
    fence: claims.fence,
    tokenSha256: sha256Hex(sent.token),
    bodySha256: claims.body_sha256,
  });
  return opened.kind === 'answer' ? verdictOf(opened, sent) : distrusted(opened.kind);
}

function verdictOf(
  { claims }: Extract<OpenedAnswer, { kind: 'answer' }>,
  { call, claims: asked }: Sent,
): HostResult {
  const { outcome, store_epoch: storeEpoch } = claims;
  const askedEpoch = call.storeEpoch;
  const isFact = outcome.kind === 'succeeded' || outcome.kind === 'failed';
  if (askedEpoch !== null && askedEpoch !== storeEpoch && !isFact) {
    const detail = 'the host has another store than when the action was sent to it';
    return { kind: 'lost', cause: 'host', reason: 'store_lost', detail, storeEpoch };
  }
  if (outcome.kind !== 'refused') return { kind: 'answered', outcome, storeEpoch };
  const { refusal, highest_fence: highestFence } = outcome;
  // A memory that was not there when the action was sent cannot vouch for what it refuses.
  const started = outcome.started || bringsRequest(asked);
  const retryAfterMs = refusal === 'rate_limited' ? retryAfterOf(outcome) : null;
  return { kind: 'refused', refusal, started, highestFence, retryAfterMs, storeEpoch };
}

function retryAfterOf({ retry_after_ms: ms = 0 }: RefusedAnswer): number {
  return Math.min(ms, MAX_RETRY_AFTER_MS);
}

function bringsRequest({ purpose, body_sha256: digest }: RouteTokenClaims): boolean {
  return purpose === 'reconcile' && digest !== NO_BODY_SHA256;
}

function distrusted(kind: Exclude<OpenedAnswer['kind'], 'answer'>): HostResult {
  const lost = { kind: 'lost', cause: 'host' } as const;
  switch (kind) {
    case 'wrong_signature':
      return {
        ...lost,
        reason: kind,
        detail: "the answer is not signed by the assigned host's key",
      };
    case 'wrong_reference':
      return { ...lost, reason: kind, detail: 'the answer belongs to another request' };
    case 'invalid':
      return { ...lost, reason: 'answer_invalid', detail: 'the signed answer cannot be read' };
  }
}

function readPage<Value>(
  received: Exchanged,
  read: (json: unknown, bytes: Buffer) => Value | null,
): HostPage<Value> {
  if (received.kind !== 'received') return { kind: 'unreadable', detail: received.detail };
  const value = read(jsonOf(received.body), received.body);
  if (value !== null) return { kind: 'read', value };
  return { kind: 'unreadable', detail: `the host answered ${received.status}` };
}
