/** Calls about actions, right ones and wrong ones: every part of a token can be spoilt. */
import type { Dispatcher } from 'undici';
import type { RouteTokenClaims, TokenPurpose } from '../domain/host-protocol';
import { exchange, type Exchanged } from '../hosts/client/exchange';
import { openAnswer } from '../hosts/protocol/answers';
import { sha256Hex, signJson, type MessageType } from '../hosts/protocol/jws';
import {
  ANSWER_LIMIT_BYTES,
  JOSE_TYPE,
  MANIFEST_LIMIT_BYTES,
  actionRequest,
} from '../hosts/protocol/limits';
import type { SigningKey } from '../signing/keys';
import { noReply, type Reply } from './replies';
import type { ConformanceSetup } from './subject';

export interface CallSpec {
  readonly purpose: TokenPurpose;
  readonly action: string;
  readonly fence: number;
  readonly capability: string;
  readonly timeoutMs: number;
  readonly body?: string | Uint8Array;
  /** What is wrong with the token, or else said by it. */
  readonly claims?: Readonly<Partial<RouteTokenClaims>> & Readonly<Record<string, unknown>>;
  readonly frame?: Partial<TokenFrame>;
  readonly key?: SigningKey;
  readonly typ?: MessageType;
  /** This very text instead of a token made here; empty: no token at all. */
  readonly token?: string;
  /** The action of the path, where it is not the token's. */
  readonly path?: string;
  /** The call of the path, where it is not the token's purpose. */
  readonly route?: TokenPurpose;
}

interface TokenFrame {
  readonly iss: string;
  readonly aud: string;
  readonly iat: number;
  readonly exp: number;
  readonly jti: string;
}

export interface Sent {
  readonly reply: Reply;
  readonly token: string;
}

export interface CallDeps {
  readonly setup: ConformanceSetup;
  readonly agent: Dispatcher;
  readonly newJti: () => string;
}

const TOKEN_SLACK_MS = 5_000;

export async function send(spec: CallSpec, deps: CallDeps): Promise<Sent> {
  const { setup, agent } = deps;
  const body = Buffer.from(spec.body ?? '');
  const frame = frameOf(spec, deps);
  const claims = { ...claimsOf(spec, setup, sha256Hex(body)), ...spec.claims };
  const token =
    spec.token ??
    (await signJson({ ...frame, ...claims }, spec.typ ?? 'waybill-route', spec.key ?? setup.key));
  const authorization = token === '' ? {} : { authorization: `Bearer ${token}` };
  const answered = await exchange(agent, {
    endpoint: setup.subject,
    ...actionRequest(spec.route ?? spec.purpose, spec.path ?? spec.action),
    headers: { ...authorization, 'content-type': 'application/json', accept: JOSE_TYPE },
    body: (spec.route ?? spec.purpose) === 'read' ? null : body,
    limitBytes: ANSWER_LIMIT_BYTES,
    timeoutMs: spec.timeoutMs,
    signal: setup.signal,
  });
  if (answered.kind !== 'received') return { reply: noReply(answered), token };
  const expected = {
    peerDid: setup.subject.peerDid,
    ...{ jti: frame.jti, tenant: claims.tenant, action: claims.action, fence: claims.fence },
    tokenSha256: sha256Hex(token),
    bodySha256: sha256Hex(body),
  };
  return { reply: await judged(answered, expected), token };
}

/** A page of the host, of which nothing is signed. */
export async function getPage(path: string, timeoutMs: number, deps: CallDeps): Promise<Exchanged> {
  return await exchange(deps.agent, {
    endpoint: deps.setup.subject,
    ...{ method: 'GET', path, headers: {}, body: null, limitBytes: MANIFEST_LIMIT_BYTES },
    ...{ timeoutMs, signal: deps.setup.signal },
  });
}

function frameOf(spec: CallSpec, { setup, newJti }: CallDeps): TokenFrame {
  const nowMs = setup.nowMs();
  return {
    iss: setup.issuer,
    aud: setup.subject.peerDid,
    iat: Math.floor(nowMs / 1000),
    exp: Math.floor((nowMs + spec.timeoutMs + TOKEN_SLACK_MS) / 1000),
    jti: newJti(),
    ...spec.frame,
  };
}

function claimsOf(
  spec: CallSpec,
  { subject }: ConformanceSetup,
  bodySha256: string,
): RouteTokenClaims {
  return {
    ...{ tenant: subject.tenantId, action: spec.action, capability: spec.capability },
    ...{ connector: subject.connectorId, instance: subject.instanceId, version: subject.version },
    ...{ manifest_digest: subject.manifestDigest, replica: subject.replicaId },
    ...{
      incarnation: subject.incarnation,
      store_epoch: null,
      sent_ago_ms: null,
      begin_anew: false,
    },
    topology: { region: 'conformance', zone: 'conformance', capacityClass: 'standard' },
    ...{ fence: spec.fence, catalog_revision: 0, binding_policy_revision: 1 },
    ...{ credential_revision: subject.credentialRevision, quota_policy: null, approval: null },
    ...{ purpose: spec.purpose, body_sha256: bodySha256 },
  };
}

async function judged(
  { status, body }: Extract<Exchanged, { kind: 'received' }>,
  expected: Parameters<typeof openAnswer>[1],
): Promise<Reply> {
  const opened = await openAnswer(body.toString('latin1'), expected);
  const text = body.toString('utf8');
  switch (opened.kind) {
    case 'answer':
      return { kind: 'signed', status, claims: opened.claims, verdict: opened.claims.outcome };
    case 'wrong_signature':
      return { kind: 'unsigned', status, flaw: "not signed by the host's key", text };
    case 'wrong_reference':
      return { kind: 'unsigned', status, flaw: 'signed, about another request', text };
    case 'invalid':
      return { kind: 'unsigned', status, flaw: 'signed, with claims that cannot be read', text };
  }
}
