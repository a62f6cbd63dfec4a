/**
 * The floor of receiving, a process of its own: an HTTP server of the same kind that reads the body
 * in the same way and inserts it, and does nothing else. Told a task queue, it then starts the
 * one-activity workflow, in the background like Waybill's own server; told a target, it relays: it makes
 * the signed call itself, in the background, too.
 */
import fastify from 'fastify';
import { Pool } from 'pg';
import { Pool as TargetPool } from 'undici';
import { v7 as uuidv7 } from 'uuid';
import { readBody } from '../../src/http/bodies';
import { BodyBudget } from '../../src/http/body-budget';
import { signStandardWebhook } from '../../src/signing/webhooks/standard-sign';
import { temporalClient } from '../../src/temporal/connections';
import { endOfBenchmark, setting } from './settings';
import type { deliverOnce } from './workflow';

const LIMITS = { limitBytes: 26_214_400, idleMs: 10_000 };
const KEEP_ALIVE_MS = 75_000;
const INSERT = {
  name: 'floor_insert',
  text: 'insert into floor_deliveries (delivery_id, payload) values ($1, $2)',
};

type Start = (deliveryId: string, payload: Buffer) => void;

async function run(): Promise<void> {
  const pool = new Pool({
    connectionString: setting('FLOOR_DATABASE_URL'),
    max: Number(setting('FLOOR_POOL_SIZE')),
    keepAlive: true,
  });
  const start = process.env['FLOOR_TARGET_URL'] === undefined ? workflowStart() : relay();
  const budget = new BodyBudget(Number.MAX_SAFE_INTEGER);
  const app = fastify({
    logger: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => {
    done(null);
  });
  app.get('/ready', () => ({ ready: true }));
  app.post('/webhooks/:ingressRef', async (request, reply) => {
    const payload = await readBody(request.raw, { ...LIMITS, budget });
    const deliveryId = uuidv7();
    await pool.query({ ...INSERT, values: [deliveryId, payload] });
    start(deliveryId, payload);
    return reply.code(202).send({ outcome: 'accepted', deliveryId });
  });
  await app.listen({ host: '127.0.0.1', port: Number(setting('FLOOR_PORT')) });
  await endOfBenchmark();
  await app.close();
  await pool.end();
}

/** One connection for each call that is under way, each used again. */
function relay(): Start {
  const url = new URL(setting('FLOOR_TARGET_URL'));
  const secrets = [setting('FLOOR_TARGET_SECRET')];
  const targets = new TargetPool(url.origin, { pipelining: 1 });
  const post = async (deliveryId: string, payload: Buffer): Promise<void> => {
    const { body } = await targets.request({
      method: 'POST',
      path: url.pathname,
      headers: {
        'content-type': 'application/json',
        'waybill-delivery-id': deliveryId,
        ...signStandardWebhook({ id: deliveryId, sentAtMs: Date.now(), body: payload, secrets }),
      },
      body: payload,
    });
    await body.dump();
  };
  // A failure ends this process, and with it the run: a floor has no second way.
  return (deliveryId, payload) => void post(deliveryId, payload);
}

function workflowStart(): Start {
  const taskQueue = process.env['FLOOR_TASK_QUEUE'];
  if (taskQueue === undefined) return () => undefined;
  const { client } = temporalClient();
  return (deliveryId, payload) => {
    // A failure ends this process, and with it the run: a floor has no second way.
    void client.workflow.start<typeof deliverOnce>('deliverOnce', {
      workflowId: `floor/${deliveryId}`,
      taskQueue,
      args: [deliveryId, payload],
    });
  };
}

void run().then(() => process.exit(0));
