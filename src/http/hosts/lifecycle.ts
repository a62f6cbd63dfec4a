/** A host's lifecycle call: verified against its replica, carried out once, answered with its trust. */
import type { Logger } from 'pino';
import { readHostFacts, registryAdministrator } from '../../db/replicas';
import { WaybillError } from '../../domain/errors';
import type { LifecycleClaims, LifecycleOperation } from '../../domain/host-protocol';
import type { LifecycleAnswer } from '../../domain/registry-ports';
import { verifyLifecycleCall, type LifecycleRefusal } from '../../hosts/protocol/lifecycle-calls';
import type { LifecycleReply } from '../../schemas/host-messages';
import type { LifecycleDeps } from '../deps';

export interface ReceivedHostCall {
  readonly replicaId: string;
  readonly operation: LifecycleOperation;
  readonly jws: string;
}

/**
 * Answers a call. The same request id is answered the same; everything else that comes late or twice
 * changes nothing.
 * @throws WaybillError `host_call_refused`, `manifest_mismatch`, `storage_unavailable`
 */
export async function answerHost(
  deps: LifecycleDeps,
  call: ReceivedHostCall,
  log: Logger,
): Promise<LifecycleReply> {
  const { replicaId, operation } = call;
  const facts = await readHostFacts(deps.fleet, replicaId);
  if (facts === null) return { kind: 'unknown_replica' };
  const { peerDid, manifestDigest, nowMs } = facts;
  const { audience } = deps;
  const expected = { replicaId, operation, peerDid, audience, nowMs };
  const verified = await verifyLifecycleCall(call.jws, expected);
  if (verified.kind === 'refused') {
    log.info({ replicaId, operation, reason: verified.reason }, 'host call refused');
    throw new WaybillError('host_call_refused', REFUSED[verified.reason]);
  }
  const { claims } = verified;
  if (claims.manifest_digest !== manifestDigest) {
    log.info({ replicaId, operation, manifestDigest }, 'host call with another manifest');
    throw new WaybillError('manifest_mismatch', mismatch(claims, manifestDigest));
  }
  const answered = await carryOut(deps, claims);
  report(log, claims, answered);
  if (answered.kind === 'stale_sequence' && (await wasSweptAway(deps, claims))) {
    return { kind: 'must_register', sequence: answered.sequence };
  }
  const brings = operation === 'register' || operation === 'heartbeat';
  return answered.kind === 'accepted' && brings ? { ...answered, trust: deps.trust } : answered;
}

async function carryOut(deps: LifecycleDeps, claims: LifecycleClaims): Promise<LifecycleAnswer> {
  const administrator = registryAdministrator(deps.fleet);
  const call = {
    replicaId: claims.sub,
    requestId: claims.request_id,
    previousSequence: claims.previous_sequence,
  };
  switch (claims.operation) {
    case 'register':
      return await administrator.register({ ...call, storeEpoch: claims.store_epoch });
    case 'heartbeat':
      return await administrator.heartbeat({ ...call, healthy: claims.healthy });
    case 'drain':
      return await administrator.drain(call);
    case 'offline':
      return await administrator.offline(call);
  }
}

/**
 * The sweep took the replica offline under a sequence of its own, and nobody else has come: no other
 * process can speak for the same memory. A host that was cut off for a while must come back by itself.
 */
async function wasSweptAway(deps: LifecycleDeps, claims: LifecycleClaims): Promise<boolean> {
  if (claims.operation === 'register') return false;
  const facts = await readHostFacts(deps.fleet, claims.sub);
  return facts?.status === 'offline' && facts.storeEpoch === claims.store_epoch;
}

const REFUSED: Readonly<Record<LifecycleRefusal, string>> = {
  wrong_signature: "The call is not signed by the replica's key, or cannot be read.",
  wrong_call: 'The call is for another replica, operation or audience than its address.',
  expired: "The call has expired, lasts too long or is from the future: compare the host's clock.",
};

function mismatch({ manifest_digest: own }: LifecycleClaims, wanted: string | null): string {
  return wanted === null
    ? 'The version of this replica has no manifest.'
    : `The host serves the manifest ${own}, the version of this replica has ${wanted}.`;
}

function report(log: Logger, claims: LifecycleClaims, answered: LifecycleAnswer): void {
  const { sub: replicaId, operation } = claims;
  // Every ten seconds from every host: nothing to read unless one looks for it.
  const quiet = operation === 'heartbeat' && answered.kind === 'accepted';
  log[quiet ? 'debug' : 'info']({ replicaId, operation, ...answered }, 'host call answered');
}
