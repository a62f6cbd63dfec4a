/** One request of the host protocol: from bytes to a signed answer. */
import type { HostVerdict, RouteToken, TokenPurpose } from '../../domain/host-protocol';
import type { SigningKey } from '../../signing/keys';
import { signAnswer } from '../protocol/answers';
import { sha256Hex } from '../protocol/jws';
import type { Actions, ExecuteCall, ReconcileCall } from './actions';
import { checkRequest, type HostSelf } from './checks';
import type { Capability } from './connector';

export interface ServingDeps {
  readonly actions: Actions;
  readonly capabilities: Readonly<Record<string, Capability>>;
  readonly key: SigningKey;
  readonly self: () => HostSelf;
  /** True: what has not begun yet is refused. */
  readonly isStopping: () => boolean;
  readonly nowMs: () => number;
}

export interface ReceivedCall {
  readonly purpose: TokenPurpose;
  readonly action: string;
  readonly authorization: string;
  readonly body: Buffer;
}

export interface SignedAnswer {
  readonly status: number;
  readonly jws: string;
}

/** A host answers before the caller's time-out, with `running` if need be. */
const ANSWER_SHARE = 0.8;

/** Serves one call. Rejects when the store or the signing fails: that is answered without a signature. */
export async function serveCall(call: ReceivedCall, deps: ServingDeps): Promise<SignedAnswer> {
  const self = deps.self();
  const nowMs = deps.nowMs();
  const compact = /^bearer (\S+)$/i.exec(call.authorization)?.[1] ?? '';
  const bodySha256 = sha256Hex(call.body);
  const request = { purpose: call.purpose, action: call.action, token: compact, bodySha256, nowMs };
  const checked = await checkRequest(request, self);
  // Of the action that the answer names; one that names none is about the path's.
  const about = checked.token ?? { tenant: self.tenantId, action: call.action };
  const verdict =
    checked.kind === 'refused'
      ? await deps.actions.refuse(about, checked.refusal, bringsRequest(call))
      : await perform(checked.token, call, deps);
  const { token } = checked;
  const jws = await signAnswer(
    {
      iss: self.did,
      iat: Math.floor(nowMs / 1000),
      in_reply_to: token?.jti ?? null,
      tenant: token?.tenant ?? null,
      action: token?.action ?? null,
      fence: token?.fence ?? null,
      token_sha256: sha256Hex(compact),
      body_sha256: bodySha256,
      store_epoch: self.storeEpoch,
      outcome: verdict,
    },
    deps.key,
  );
  return { status: statusOf(verdict), jws };
}

async function perform(
  token: RouteToken,
  received: ReceivedCall,
  deps: ServingDeps,
): Promise<HostVerdict> {
  const { tenant, action, fence } = token;
  const timeoutMs = deps.capabilities[token.capability]?.contract.timeoutMs;
  if (timeoutMs === undefined) {
    return await deps.actions.refuse(token, 'unknown_capability', bringsRequest(received));
  }
  const call = {
    tenant,
    action,
    fence,
    token: { jti: token.jti, expiresAtMs: token.exp * 1000 },
    answerWithinMs: timeoutMs * ANSWER_SHARE,
  };
  switch (token.purpose) {
    case 'execute': {
      if (deps.isStopping()) return await deps.actions.refuse(token, 'draining');
      const work = workOf(token, received.body);
      return await deps.actions.execute({ ...call, work, anew: token.begin_anew });
    }
    case 'reconcile':
      return await deps.actions.reconcile({ ...call, adopted: adoptedOf(token, received) });
    case 'cancel':
      return await deps.actions.cancel(call);
    case 'read':
      return await deps.actions.read(call);
  }
}

function workOf(token: RouteToken, body: Buffer): ExecuteCall['work'] {
  return {
    capability: token.capability,
    requestSha256: token.body_sha256,
    request: body.toString('utf8'),
    credentialRevision: token.credential_revision,
    approval: token.approval,
  };
}

/** Waybill asks a memory that was not there when the action was sent. */
function bringsRequest({ purpose, body }: ReceivedCall): boolean {
  return purpose === 'reconcile' && body.length > 0;
}

function adoptedOf(token: RouteToken, received: ReceivedCall): ReconcileCall['adopted'] {
  if (!bringsRequest(received)) return null;
  // Unknown since when: nothing that is missing is proof before the provider's time has passed.
  return { ...workOf(token, received.body), sentAgoMs: token.sent_ago_ms ?? 0 };
}

/** For logs and proxies: who reads the answer believes the signed part alone. */
function statusOf(verdict: HostVerdict): number {
  if (verdict.kind === 'running') return 202;
  if (verdict.kind !== 'refused') return 200;
  switch (verdict.refusal) {
    case 'token_invalid':
    case 'token_expired':
    case 'token_replayed':
    case 'wrong_audience':
      return 401;
    case 'rate_limited':
      return 429;
    case 'draining':
      return 503;
    case 'unknown_capability':
      return 404;
    case 'request_invalid':
    case 'wrong_body':
      return 422;
    case 'wrong_coordinates':
    case 'credential_revoked':
    case 'store_lost':
    case 'stale_fence':
    case 'request_conflict':
      return 409;
  }
}
