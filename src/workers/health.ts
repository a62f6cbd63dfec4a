/** The small server by which a worker tells its health and its metrics: it has no other port. */
import { fastify } from 'fastify';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { WaybillError } from '../domain/errors';
import { metricsRoute } from '../http/metrics';
import { HttpProblem, problemHandler } from '../http/problems';
import { answerUnknownRoutes } from '../http/unknown-routes';
import type { Config } from '../schemas/config';

export interface WorkerCondition {
  readonly polling: () => boolean;
  /** Its metrics as Prometheus text. */
  readonly metrics: () => Promise<string>;
}

/**
 * Serves `/health` (alive, and no more), `/ready` (200 only while the worker polls for work) and
 * `/metrics`.
 * @throws WaybillError `port_in_use`
 */
export async function startHealthServer(
  config: Config,
  log: Logger,
  worker: WorkerCondition,
): Promise<{ close(): Promise<void> }> {
  const { host, healthPort: port } = config.http;
  const app = fastify({ logger: false, genReqId: () => uuidv7(), forceCloseConnections: true });
  app.setErrorHandler(problemHandler(log));
  answerUnknownRoutes(app);
  app.get('/health', () => ({ status: 'alive' }));
  app.get('/ready', () => {
    if (worker.polling()) return { ready: true, checks: { worker: 'ok' } };
    const why = 'it does not poll for work (yet, or no more)';
    throw new HttpProblem('not_ready', `worker: ${why}`, { extra: { checks: { worker: why } } });
  });
  metricsRoute(app, worker.metrics);
  try {
    await app.listen({ host, port });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    throw new WaybillError(
      'port_in_use',
      `port ${port} on ${host} is taken; set WAYBILL_HEALTH_PORT to a free one`,
      { field: 'WAYBILL_HEALTH_PORT', cause: error },
    );
  }
  return { close: () => app.close() };
}
