/** `GET /metrics`: a process's metrics for Prometheus. */
import type { FastifyInstance } from 'fastify';

/** Version 0.0.4 of the text format is what every Prometheus reads. */
const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8';

/** Registers the route; `text` gives all metrics at once. */
export function metricsRoute(app: FastifyInstance, text: () => Promise<string>): void {
  app.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
    void reply.type(PROMETHEUS_TEXT).header('cache-control', 'no-store');
    return text();
  });
}
