/**
 * Judges every call before its message is read: the token, the scope of its method, how often its caller
 * may call, and how long it may take. What the token narrows is judged where the capability is known. The health service asks for no token, as /health does not.
 */
import {
  ServerInterceptingCall,
  status,
  type Metadata,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { WaybillError } from '../domain/errors';
import { countCall } from '../http/rate-limits';
import type { Scope } from '../http/scopes';
import type { Principal } from '../http/tokens';
import { logRefusal, type CallLog } from './call-log';
import { SERVICE_NAME } from './definition';
import { DEFAULT_LIMITS, type GrpcDeps } from './deps';
import { failureOf, statusOf, TooManyCalls } from './refusals';

/** What each method needs, by its path. */
const SCOPES: Readonly<Record<string, Scope>> = {
  [`/${SERVICE_NAME}/Deliver`]: 'factory.deliveries.send',
  [`/${SERVICE_NAME}/ResolveCapability`]: 'factory.catalog.read',
};

/** Who calls, and the name of this call in the log. */
export interface Caller {
  readonly principal: Principal;
  readonly requestId: string;
}

const callers = new WeakMap<Metadata, Caller>();

/** The caller of a call that passed. */
export function callerOf(metadata: Metadata): Caller {
  const caller = callers.get(metadata);
  if (caller === undefined) throw new WaybillError('internal', 'a call was not judged');
  return caller;
}

/** A call of a method without a scope is passed on: only the health service has such. */
export function judgeCalls(deps: GrpcDeps): ServerInterceptor {
  const { callMs } = deps.limits ?? DEFAULT_LIMITS;
  return (method, call) => {
    const scope = SCOPES[method.path];
    if (scope === undefined) return new ServerInterceptingCall(call);
    const log: CallLog = { ...deps, method: method.path, requestId: deps.newRequestId() };
    const overdue = setTimeout(() => {
      call.sendStatus({ code: status.DEADLINE_EXCEEDED, details: `no call takes ${callMs} ms` });
    }, callMs);
    return new ServerInterceptingCall(call, {
      start: (next) => {
        next({
          onReceiveMetadata: (metadata, goOn) => {
            judge(deps, metadata, scope).then(
              (principal) => {
                callers.set(metadata, { principal, requestId: log.requestId });
                goOn(metadata);
              },
              (error: unknown) => {
                clearTimeout(overdue);
                const failure = failureOf(error);
                logRefusal(log, failure);
                call.sendStatus(statusOf(failure, log.requestId));
              },
            );
          },
          onCancel: () => {
            clearTimeout(overdue);
          },
        });
      },
      sendStatus: (sent, next) => {
        clearTimeout(overdue);
        next(sent);
      },
    });
  };
}

async function judge(
  { tokens, callLimits }: GrpcDeps,
  metadata: Metadata,
  scope: Scope,
): Promise<Principal> {
  const given = metadata.get('authorization');
  // Two of them are none: nobody can say which one counts.
  const principal = await tokens.verify(given.length === 1 ? String(given[0]) : undefined);
  const { over } = await countCall(callLimits, principal);
  if (over !== null) throw new TooManyCalls(over);
  if (!principal.scopes.has(scope)) {
    throw new WaybillError('scope_missing', `The token lacks the scope ${scope}.`);
  }
  return principal;
}
