/** The gRPC server: the service `Connectors` and the standard health service (docs/api, "gRPC"). */
import { setMaxListeners } from 'node:events';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { judgeCalls } from './authorization';
import { unary } from './calls';
import { connectorsService } from './definition';
import { deliver } from './deliver';
import { DEFAULT_LIMITS, type GrpcDeps } from './deps';
import { healthService } from './health';
import { resolveCapability } from './resolve-capability';

/** PEM; null: plain. */
export type ServerTls = { readonly certificate: Buffer; readonly privateKey: Buffer } | null;

export interface GrpcServer {
  /** With the port that was really taken. */
  readonly port: number;
  /** Lets calls under way finish for `graceMs`; then they are cut off. */
  close(graceMs?: number): Promise<void>;
}

const CLOSE_GRACE_MS = 10_000;
/** A peer that is gone without a word is found out, and balancers below HTTP spread anew. */
const KEEP_ALIVE_MS = 60_000;
const CONNECTION_AGE_MS = 30 * 60_000;

/**
 * Starts it.
 * @throws Error with the code EADDRINUSE where the port is taken
 */
export async function startGrpcServer(
  deps: GrpcDeps,
  at: { readonly host: string; readonly port: number; readonly tls: ServerTls },
): Promise<GrpcServer> {
  const limits = deps.limits ?? DEFAULT_LIMITS;
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const server = new Server({
    interceptors: [judgeCalls(deps)],
    'grpc.max_receive_message_length': limits.messageBytes,
    'grpc.max_concurrent_streams': limits.callsPerConnection,
    'grpc.keepalive_time_ms': KEEP_ALIVE_MS,
    'grpc.max_connection_age_ms': CONNECTION_AGE_MS,
    'grpc.max_connection_age_grace_ms': limits.callMs,
  });
  server.addService(connectorsService(), {
    Deliver: unary(deps, deliver(deps), closing.signal),
    ResolveCapability: unary(deps, resolveCapability(deps), closing.signal),
  });
  const health = await healthService(deps);
  health.addTo(server);
  const port = await listen(server, at).catch((error: unknown) => {
    health.stop();
    server.forceShutdown();
    throw error;
  });
  return {
    port,
    close: (graceMs = CLOSE_GRACE_MS) => {
      health.stop();
      // Whoever waits is answered with what is known.
      closing.abort();
      return shutDown(server, graceMs);
    },
  };
}

async function listen(
  server: Server,
  { host, port, tls }: { readonly host: string; readonly port: number; readonly tls: ServerTls },
): Promise<number> {
  const credentials =
    tls === null
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(null, [
          { private_key: tls.privateKey, cert_chain: tls.certificate },
        ]);
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  return await new Promise((done, fail) => {
    server.bindAsync(address, credentials, (error, taken) => {
      if (error === null) done(taken);
      else fail(withCode(error));
    });
  });
}

/** The library keeps what the socket said in its sentence alone. */
function withCode(error: Error): Error {
  const taken = error.message.includes('EADDRINUSE');
  return taken ? Object.assign(error, { code: 'EADDRINUSE' }) : error;
}

async function shutDown(server: Server, graceMs: number): Promise<void> {
  let overdue: NodeJS.Timeout | undefined;
  await new Promise<void>((done) => {
    overdue = setTimeout(() => {
      server.forceShutdown();
      done();
    }, graceMs);
    server.tryShutdown(() => {
      done();
    });
  });
  clearTimeout(overdue);
}
