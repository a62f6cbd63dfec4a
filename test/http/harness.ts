/**
 * A real server on a real socket over a real database of its own. Doubled are only the starter and
 * the counter, which write down what they were told, and the clock of nothing.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import { closeAttempt, openAttempt } from '../../src/db/deliveries';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { deliveryId, replayJobId, tenantId } from '../../src/domain/ids';
import type { HttpDeps } from '../../src/http/deps';
import { callLimits, DEFAULT_CALL_RATES } from '../../src/http/rate-limits';
import { createServer } from '../../src/http/server';
import { developmentTokens, issueDevelopmentToken } from '../../src/http/tokens/development';
import type { Problem } from '../../src/schemas/api-problems';
import { loadShippedSchemes } from '../../src/schemas/shipped-schemes';
import { cachedSecrets } from '../../src/secrets/cache';
import { envSecrets } from '../../src/secrets/env';
import { actionSigner } from '../../src/services/actions/receipts';
import { actionService } from '../../src/services/actions/starting';
import { commonData, nextReceipt } from '../../src/services/receipts';
import { exportReceipts } from '../../src/services/receipt-export';
import { decideReplay } from '../../src/services/replays';
import { generateKeyText, importSigningKey, publicKeySet } from '../../src/signing/keys';
import type { SigningKey } from '../../src/signing/keys';
import { startingActions } from '../support/starting-actions';
import { createTestDatabase } from '../support/test-database';
import type { TestDatabase } from '../support/test-database';
import { FAILED_CLOSE } from './failed-close';
import { githubHeaders, SECRET } from './github-requests';
import type { StoredDelivery } from './stored-delivery';
import { deliverDeps } from './deliver-deps';
import { lifecycleDeps } from './lifecycle-deps';
import { notedRuns, type OtherServer } from './harness-parts';
import { repinDeps } from './repin-deps';

export { githubHeaders, SECRET, sign } from './github-requests';

export const READ = 'factory.connections.read';
export const OPERATE = 'factory.connections.operate';
export const ACTIONS_READ = 'factory.actions.read';
export const ACTIONS_RUN = 'factory.actions.run';
export const ACTIONS_OPERATE = 'factory.actions.operate';
export const RECEIPTS_READ = 'factory.receipts.read';

export interface Answer<Body = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export class Harness {
  readonly db: TestDatabase;
  readonly key: SigningKey;
  readonly env: Record<string, string> = { TEST_INGRESS_SECRET: SECRET };
  readonly started: string[] = [];
  readonly nudged: string[] = [];
  /** Workflows of actions that were started or woken. */
  readonly attended: [string, string][] = [];
  readonly counted: string[] = [];
  readonly log: string[] = [];
  #app: FastifyInstance | undefined;
  port = 0;

  private constructor(db: TestDatabase, key: SigningKey) {
    this.db = db;
    this.key = key;
  }

  static async start(changes: Partial<HttpDeps> = {}): Promise<Harness> {
    const db = await createTestDatabase();
    const harness = new Harness(db, await importSigningKey(await generateKeyText()));
    const { app, port } = await harness.#listen(changes);
    harness.#app = app;
    harness.port = port;
    return harness;
  }

  /** Another server over the same database. */
  async alsoServe(changes: Partial<HttpDeps>): Promise<OtherServer> {
    const { app, port } = await this.#listen(changes);
    return { port, base: `http://127.0.0.1:${port}`, close: () => app.close() };
  }

  async stop(): Promise<void> {
    await this.#app?.close();
    await this.db.drop();
  }

  /** How many connections the server holds. */
  connections(): Promise<number> {
    return new Promise((done, fail) => {
      this.#app?.server.getConnections((error, count) => {
        if (error === null) done(count);
        else fail(error);
      });
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async #listen(changes: Partial<HttpDeps>) {
    const app = createServer({ ...this.#deps(), ...changes });
    await app.listen({ port: 0, host: '127.0.0.1' });
    return { app, port: (app.server.address() as AddressInfo).port };
  }

  #deps(): HttpDeps {
    const data = this.db.as('waybill_data');
    const tokens = developmentTokens(this.key.publicJwk, Date.now);
    const log = pino({ level: 'debug' }, { write: (line) => void this.log.push(line) });
    return {
      data,
      log,
      secrets: cachedSecrets(envSecrets(this.env), { ttlMs: 0, nowMs: () => 0 }),
      starter: {
        ...{ tells: () => false, express: () => void this.started.push('express') },
        start: (ref) => void this.started.push(ref.deliveryId),
        nudge: (ref) => void this.nudged.push(ref.deliveryId),
      },
      callLimits: callLimits(DEFAULT_CALL_RATES),
      deliver: deliverDeps(data, this.started),
      replay: (ref, who) => decideReplay({ data, signingKey: this.key }, ref, who),
      bulkReplays: {
        nudge: ({ jobId }) => void this.nudged.push(jobId),
        newJobId: () => replayJobId(uuidv7()),
      },
      certifications: notedRuns(this.key, this.attended),
      actions: actionService(
        startingActions(
          data,
          (action, why) => void this.attended.push([why, action.actionId]),
          actionSigner(this.key),
        ),
      ),
      repin: repinDeps(data, this.key, this.attended),
      exportReceipts: (tenant) =>
        exportReceipts({ data, signingKey: this.key, nowMs: Date.now }, tenant),
      publicKeys: { keys: publicKeySet([this.key]).keys.map((key) => ({ ...key })) },
      temporalUi: 'http://127.0.0.1:8233',
      namespace: 'default',
      lifecycle: lifecycleDeps(this.db, this.key),
      serve: {
        api: { tokens },
        ingress: true,
        admin: {
          tokens,
          fleets: { schemes: loadShippedSchemes(), secrets: envSecrets(this.env) },
          subscriptions: {
            control: this.db.as('waybill_control'),
            secrets: envSecrets(this.env),
            tenantSecrets: ['env:TEST_'],
            newIngressRef: () => randomBytes(16).toString('hex'),
          },
        },
      },
      publicBaseUrl: 'https://hooks.example.test',
      trustedProxies: [],
      // Tests change the catalog and look at once.
      ingressKeptMs: 0,
      ready: () => Promise.resolve({ ready: true, checks: { postgres: 'ok' } }),
      cursorKey: randomBytes(32),
      newDeliveryId: () => deliveryId(uuidv7()),
      newRequestId: randomUUID,
      count: (outcome) => void this.counted.push(outcome),
      patience: { bodyIdleMs: 300, requestMs: 20_000 },
    };
  }

  /** A request with a token of that tenant, or without any. */
  async call<Body = Record<string, unknown>>(
    path: string,
    options: {
      readonly method?: string;
      readonly token?: string | null;
      readonly tenant?: string;
      readonly scopes?: readonly string[];
      readonly claims?: Readonly<Record<string, unknown>>;
      readonly json?: unknown;
      readonly base?: string;
    } = {},
  ): Promise<Answer<Body>> {
    const { json, method = json === undefined ? 'GET' : 'POST' } = options;
    const token = options.token === undefined ? await this.token(options) : options.token;
    const response = await fetch(`${options.base ?? this.url}${path}`, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    return { status: response.status, headers: response.headers, body: await readJson(response) };
  }

  token(
    options: {
      readonly tenant?: string;
      readonly scopes?: readonly string[];
      readonly subject?: string;
      readonly claims?: Readonly<Record<string, unknown>>;
    } = {},
  ): Promise<string> {
    return issueDevelopmentToken(this.key, {
      tenantId: options.tenant ?? 'acme',
      subject: options.subject ?? 'ada@example.test',
      scopes: options.scopes ?? [READ, OPERATE],
      claims: options.claims ?? {},
      issuedAt: new Date(),
      lifetimeS: 600,
    });
  }

  /** Posts to an ingress as GitHub does. */
  async post(
    ingressRef: string,
    body: string | Uint8Array,
    options: {
      readonly id?: string;
      readonly event?: string;
      readonly secret?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly base?: string;
    } = {},
  ): Promise<Answer> {
    const bytes = Buffer.from(body);
    const response = await fetch(`${options.base ?? this.url}/webhooks/${ingressRef}`, {
      method: 'POST',
      headers: { ...githubHeaders(bytes, options), ...options.headers },
      body: bytes,
    });
    return { status: response.status, headers: response.headers, body: await readJson(response) };
  }

  /** What is stored, oldest first, with the bytes that were kept for it. */
  stored(tenant = 'acme'): Promise<StoredDelivery[]> {
    return this.db.rows<StoredDelivery>(
      `select d.*, coalesce(a.content, r.content) as payload from waybill.deliveries d
        left join waybill.artifacts a
          on a.tenant_id = d.tenant_id and a.sha256 = d.payload_sha256 and d.state <> 'Rejected'
        left join waybill.rejected_payloads r
          on r.tenant_id = d.tenant_id and r.delivery_id = d.delivery_id
        where d.tenant_id = $1 order by d.received_at, d.delivery_id`,
      [tenant],
    );
  }

  async dedupKeys(): Promise<number> {
    return (await this.db.rows('select from waybill.dedup_keys')).length;
  }

  /** Makes one attempt that fails for good, as a worker would. */
  async fail(tenant: string, id: string): Promise<DeliveryRef> {
    const ref = { tenantId: tenantId(tenant), deliveryId: deliveryId(id) };
    const data = this.db.as('waybill_data');
    const opened = await openAttempt(data, ref, 'test');
    if (opened.answer !== 'opened') throw new Error(`the attempt was not opened: ${opened.answer}`);
    const receipt = nextReceipt(this.key, {
      ref,
      facts: opened.info,
      atMs: Date.parse(opened.info.now),
      body: {
        kind: 'failed',
        data: {
          ...commonData(ref, opened.info),
          attempts: opened.info.attempt,
          reason: 'permanent_refusal',
          lastStatus: 404,
        },
      },
    });
    const at = { ...ref, attempt: opened.info.attempt };
    await closeAttempt(data, at, FAILED_CLOSE, receipt);
    return ref;
  }
}

/** A problem, checked to be one. */
export function problem(answer: Answer): Problem {
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  const body = answer.body as unknown as Problem;
  expect(body).toMatchObject({
    type: `urn:waybill:error:${body.code}`,
    status: answer.status,
    requestId: answer.headers.get('x-request-id'),
  });
  return body;
}

const Json = z.record(z.string(), z.unknown());

async function readJson<Body>(response: Response): Promise<Body> {
  const text = await response.text();
  return (text === '' ? {} : Json.parse(JSON.parse(text))) as Body;
}
