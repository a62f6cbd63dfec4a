/** The small server by which a worker tells its health and its metrics: it has no other port. */
import type { Logger } from 'pino';
import { metricsRoute } from '../http/metrics';
import { HttpProblem } from '../http/problems';
import type { Config } from '../schemas/config';
import { startPrivateServer } from './private-server';

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
export function startHealthServer(
  config: Config,
  log: Logger,
  worker: WorkerCondition,
): Promise<{ close(): Promise<void> }> {
  return startPrivateServer({
    host: config.http.host,
    port: config.http.healthPort,
    setting: 'WAYBILL_HEALTH_PORT',
    log,
    routes: (app) => {
      app.get('/health', () => ({ status: 'alive' }));
      app.get('/ready', () => {
        if (worker.polling()) return { ready: true, checks: { worker: 'ok' } };
        const why = 'it does not poll for work (yet, or no more)';
        throw new HttpProblem('not_ready', `worker: ${why}`, {
          extra: { checks: { worker: why } },
        });
      });
      metricsRoute(app, worker.metrics);
    },
  });
}
