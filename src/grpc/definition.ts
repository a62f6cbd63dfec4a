/** The committed .proto, read as it is served (docs/api, "gRPC"). */
import path from 'node:path';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

export const PROTO_FOLDER = path.join(__dirname, '..', '..', 'proto');
export const PROTO_FILE = 'waybill/connectors/v1/connectors.proto';
export const SERVICE_NAME = 'waybill.connectors.v1.Connectors';

/** Field names as TypeScript writes them; numbers of 64 bits as numbers: none here is beyond 2^53. */
export function connectorsService(): ServiceDefinition {
  const loaded = loadSync(PROTO_FILE, {
    includeDirs: [PROTO_FOLDER],
    longs: Number,
    enums: String,
    oneofs: true,
    defaults: true,
  });
  return loaded[SERVICE_NAME] as ServiceDefinition;
}
