/** What the gRPC server is made of; the composition passes all of it in. */
import type { Logger } from 'pino';
import type { CapabilityCatalog } from '../domain/registry-ports';
import { MAX_DELIVER_PAYLOAD_BYTES, type Deliver } from '../domain/sending';
import type { Readiness } from '../http/deps';
import type { CallLimits } from '../http/rate-limits';
import type { TokenVerifier } from '../http/tokens';

export interface GrpcDeps {
  readonly log: Logger;
  readonly catalog: CapabilityCatalog;
  readonly deliver: Deliver;
  /** The same that judges the tokens of the API. */
  readonly tokens: TokenVerifier;
  /** The same that count the calls of the API. */
  readonly callLimits: CallLimits;
  readonly ready: () => Promise<Readiness>;
  readonly newRequestId: () => string;
  readonly limits?: GrpcLimits;
}

export interface GrpcLimits {
  /** From the first byte of a call to its status, whatever deadline its caller sets. */
  readonly callMs: number;
  readonly messageBytes: number;
  /** Calls under way on one connection. */
  readonly callsPerConnection: number;
  /** How often the health service looks anew. */
  readonly healthMs: number;
}

export const DEFAULT_LIMITS: GrpcLimits = {
  callMs: 30_000,
  messageBytes: MAX_DELIVER_PAYLOAD_BYTES + 65_536,
  callsPerConnection: 100,
  healthMs: 2_000,
};
