/** The served part `grpc` of `waybill api`. */
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { capabilityCatalog } from '../db/capabilities';
import type { Database } from '../db/database';
import { WaybillError } from '../domain/errors';
import { isLoopback } from '../domain/loopback';
import type { Deliver } from '../domain/sending';
import type { GrpcDeps } from '../grpc/deps';
import { startGrpcServer, type ServerTls } from '../grpc/server';
import type { Readiness } from '../http/deps';
import type { CallLimits } from '../http/rate-limits';
import type { TokenVerifier } from '../http/tokens';
import type { Config } from '../schemas/config';
import type { Closers } from './closers';
import { namingPort } from './naming-port';

export interface GrpcParts {
  readonly config: Config;
  readonly log: Logger;
  readonly data: Database;
  readonly deliver: Deliver;
  readonly tokens: TokenVerifier;
  readonly callLimits: CallLimits;
  readonly tls: ServerTls;
  readonly ready: () => Promise<Readiness>;
}

/**
 * Answers `host:port`, once it listens there.
 * @throws WaybillError `port_in_use`
 */
export async function serveGrpc(parts: GrpcParts, closers: Closers): Promise<string> {
  const { config, log, data, deliver, tokens, callLimits, tls, ready } = parts;
  const { host } = config.http;
  const wish = { host, port: config.grpc.port, setting: 'WAYBILL_GRPC_PORT' };
  const deps: GrpcDeps = {
    ...{ log, deliver, tokens, callLimits, ready },
    catalog: capabilityCatalog(data),
    newRequestId: () => uuidv7(),
  };
  const server = await namingPort(wish, () => startGrpcServer(deps, { ...wish, tls }));
  closers.add(() => server.close());
  return `${host}:${server.port}`;
}

/**
 * The certificate; null: plain, which tokens must not travel by over a network.
 * @throws WaybillError `config_invalid`
 */
export async function grpcTls({ http, grpc }: Config): Promise<ServerTls> {
  const { certificateFile, privateKeyFile, plain } = grpc;
  if (certificateFile !== null && privateKeyFile !== null) {
    return {
      certificate: await pem(certificateFile, 'WAYBILL_GRPC_TLS_CERT'),
      privateKey: await pem(privateKeyFile, 'WAYBILL_GRPC_TLS_KEY'),
    };
  }
  if (certificateFile !== null || privateKeyFile !== null) {
    const missing = certificateFile === null ? 'WAYBILL_GRPC_TLS_CERT' : 'WAYBILL_GRPC_TLS_KEY';
    throw wrong(missing, `gRPC with TLS needs ${missing}, too`);
  }
  if (plain || isLoopback(http.host)) return null;
  throw wrong(
    'WAYBILL_GRPC_TLS_CERT',
    `WAYBILL_HOST is ${http.host}: gRPC outside loopback needs WAYBILL_GRPC_TLS_CERT and ` +
      'WAYBILL_GRPC_TLS_KEY, or WAYBILL_GRPC_PLAIN=on where something before it has TLS',
  );
}

async function pem(file: string, setting: string): Promise<Buffer> {
  const text = await readFile(file).catch((error: unknown) => {
    throw wrong(setting, `${setting}: ${file} cannot be read`, error);
  });
  if (text.includes('-----BEGIN ')) return text;
  throw wrong(setting, `${setting}: ${file} holds no PEM`);
}

function wrong(field: string, detail: string, cause?: unknown): WaybillError {
  return new WaybillError('config_invalid', detail, { field, cause });
}
