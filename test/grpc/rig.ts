/** A real gRPC server over a real Postgres, and clients that are made of the committed .proto. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import {
  credentials,
  loadPackageDefinition,
  Metadata,
  type ChannelCredentials,
  type Client,
  type ServiceClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { protoPath as healthProto } from 'grpc-health-check';
import pino from 'pino';
import protobuf from 'protobufjs';
import { capabilityCatalog } from '../../src/db/capabilities';
import type { GrpcDeps } from '../../src/grpc/deps';
import { startGrpcServer, type GrpcServer, type ServerTls } from '../../src/grpc/server';
import { callLimits, DEFAULT_CALL_RATES } from '../../src/http/rate-limits';
import { developmentTokens, issueDevelopmentToken } from '../../src/http/tokens/development';
import { generateKeyText, importSigningKey, type SigningKey } from '../../src/signing/keys';
import type { TestDatabase } from '../support/test-database';

export const CATALOG_READ = 'factory.catalog.read';
const PROTO = path.join(__dirname, '../../proto/waybill/connectors/v1/connectors.proto');

type Message = Record<string, unknown>;

/** Of a token. */
export interface Wished {
  readonly tenant?: string;
  readonly subject?: string;
  readonly scopes?: readonly string[];
  readonly claims?: Readonly<Record<string, unknown>>;
}

export type Outcome = { readonly answer: Message } | { readonly refused: ServiceError };

export class GrpcRig {
  readonly db: TestDatabase;
  readonly key: SigningKey;
  readonly log: string[] = [];
  ready = true;
  readonly #servers: GrpcServer[] = [];
  readonly #clients: Client[] = [];

  private constructor(db: TestDatabase, key: SigningKey) {
    this.db = db;
    this.key = key;
  }

  static async make(db: TestDatabase): Promise<GrpcRig> {
    return new GrpcRig(db, await importSigningKey(await generateKeyText()));
  }

  async serve(changes: Partial<GrpcDeps> = {}, tls: ServerTls = null): Promise<GrpcServer> {
    const deps: GrpcDeps = {
      log: pino({ level: 'debug' }, { write: (line) => void this.log.push(line) }),
      catalog: capabilityCatalog(this.db.as('waybill_data')),
      deliver: () => Promise.reject(new Error('nothing is sent here')),
      tokens: developmentTokens(this.key.publicJwk, Date.now),
      callLimits: callLimits(DEFAULT_CALL_RATES),
      ready: () => Promise.resolve({ ready: this.ready, checks: {} }),
      newRequestId: randomUUID,
      ...changes,
    };
    const server = await startGrpcServer(deps, { host: '127.0.0.1', port: 0, tls });
    this.#servers.push(server);
    return server;
  }

  /** A client of one service of a .proto. */
  client({ port }: GrpcServer, service?: string, trust?: ChannelCredentials): Client {
    const made = clientOf(port, service, trust);
    this.#clients.push(made);
    return made;
  }

  token(options: Wished = {}): Promise<string> {
    return issueDevelopmentToken(this.key, {
      tenantId: options.tenant ?? 'acme',
      subject: options.subject ?? 'tool@example.test',
      scopes: options.scopes ?? [CATALOG_READ],
      claims: options.claims ?? {},
      issuedAt: new Date(),
      lifetimeS: 600,
    });
  }

  async metadata(options: Wished = {}): Promise<Metadata> {
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${await this.token(options)}`);
    return metadata;
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.close();
    await Promise.all(this.#servers.map((server) => server.close(0)));
  }
}

/** A client of one service on loopback, without TLS unless told; its owner closes it. */
export function clientOf(
  port: number,
  service = 'waybill.connectors.v1.Connectors',
  trust: ChannelCredentials = credentials.createInsecure(),
): Client {
  const file = service.startsWith('grpc.health') ? healthProto : PROTO;
  const loaded = loadPackageDefinition(loadSync(file, { longs: Number, enums: String }));
  const Made = service
    .split('.')
    .reduce<unknown>((all, name) => (all as Message)[name], loaded) as ServiceClientConstructor;
  return new Made(`127.0.0.1:${port}`, trust);
}

/** One unary call. */
export function call(
  client: Client,
  method: string,
  message: Message,
  {
    metadata = new Metadata(),
    deadlineMs = 10_000,
  }: { readonly metadata?: Metadata; readonly deadlineMs?: number } = {},
): Promise<Outcome> {
  const stub = (client as unknown as Record<string, (...args: unknown[]) => void>)[method];
  return new Promise((done) => {
    stub?.call(
      client,
      message,
      metadata,
      { deadline: Date.now() + deadlineMs },
      (error: ServiceError | null, answer: Message) => {
        done(error === null ? { answer } : { refused: error });
      },
    );
  });
}

/** What the status of a refusal names. */
export function refusal(outcome: Outcome): Record<string, unknown> {
  if ('answer' in outcome) throw new Error(`it was answered: ${JSON.stringify(outcome.answer)}`);
  const { code, details, metadata } = outcome.refused;
  const named = ['code', 'retryable', 'field', 'reason'].map((name) => {
    const [value] = metadata.get(`waybill-${name}`);
    return [name, value] as const;
  });
  return {
    status: code,
    details,
    ...Object.fromEntries(named.filter(([, value]) => value !== undefined)),
  };
}

/** Names of a message's fields in the committed .proto, as TypeScript has them, and of its oneofs. */
export async function fieldsOf(name: string): Promise<string[]> {
  const { root } = protobuf.parse(await readFile(PROTO, 'utf8'));
  const { fields, oneofsArray } = root.lookupType(`waybill.connectors.v1.${name}`);
  // What is optional is a oneof of its own, too.
  const named = oneofsArray.map((oneof) => oneof.name).filter((oneof) => !oneof.startsWith('_'));
  return [...Object.keys(fields), ...named].sort();
}

/** Its methods. */
export async function methodsOf(service: string): Promise<string[]> {
  const { root } = protobuf.parse(await readFile(PROTO, 'utf8'));
  return Object.keys(root.lookupService(service).methods);
}
