/** What an action rig is put together from. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { actionTargetResolver } from '../../src/db/routes';
import { createHostClient } from '../../src/hosts/client';
import { didOfKey } from '../../src/signing/did-key';
import { ROUTE_TOKEN_ISSUER, routeTokenTrust } from '../../src/hosts/protocol/route-tokens';
import { createServer } from '../../src/http/server';
import type { ActionServices } from '../../src/services/actions/action-services';
import { actionSigner } from '../../src/services/actions/receipts';
import { generateKeyText, importSigningKey, type SigningKey } from '../../src/signing/keys';
import { freePort } from '../../src/workers/embedded/ports';
import { ANYWHERE } from '../registry/fixture';
import type { TestDatabase } from './test-database';

export const PROVIDER_TOKEN = 'token-of-acme';
/** An account of the provider's beside it: for a host whose effects a test tells from the others'. */
export const OTHER_ACCOUNT = { account: 'acme-2', token: 'token-of-acme-2' } as const;

export interface RigServers {
  readonly db: TestDatabase;
  /** `host:port`. */
  readonly temporal: string;
}

export interface RigHost {
  readonly replicaId: string;
  readonly keyText: string;
  readonly did: string;
  readonly port: number;
  readonly storeFile: string;
}

export async function describeHost(replicaId: string, folder: string): Promise<RigHost> {
  const keyText = await generateKeyText();
  const { publicJwk } = await importSigningKey(keyText);
  return {
    ...{ replicaId, keyText, did: didOfKey(publicJwk.x), port: await freePort() },
    storeFile: path.join(folder, `${replicaId}.sqlite`),
  };
}

export async function lifecycleService(
  db: TestDatabase,
  key: SigningKey,
): Promise<{ readonly app: FastifyInstance; readonly url: string }> {
  const app = createServer({
    log: pino({ level: 'silent' }),
    publicKeys: { keys: [] },
    trustedProxies: [],
    ready: () => Promise.resolve({ ready: true, checks: {} }),
    newRequestId: randomUUID,
    serve: null,
    lifecycle: {
      fleet: db.as('waybill_lifecycle'),
      audience: 'urn:waybill:lifecycle',
      trust: routeTokenTrust([key]),
    },
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { app, url };
}

export function servicesOf(db: TestDatabase, key: SigningKey): ActionServices {
  const data = db.as('waybill_data');
  return {
    data,
    sign: actionSigner(key),
    routes: actionTargetResolver(data, ANYWHERE),
    hosts: createHostClient({
      issuer: ROUTE_TOKEN_ISSUER,
      key,
      nowMs: Date.now,
      newJti: randomUUID,
      connectionsPerHost: 16,
    }),
    random: () => 0,
    holdMs: 30_000,
    watchMs: 100,
  };
}
