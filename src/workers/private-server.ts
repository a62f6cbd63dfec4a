/**
 * A small server for those who run Waybill: health and metrics. It has a port of its own, so that
 * whoever may reach the API or an ingress does not see it.
 */
import type { FastifyInstance } from 'fastify';
import { fastify } from 'fastify';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { problemHandler } from '../http/problems';
import { answerUnknownRoutes } from '../http/unknown-routes';
import { namingPort } from './naming-port';

export interface PrivateServerOptions {
  readonly host: string;
  readonly port: number;
  /** The variable that changes the port, for the message when it is taken. */
  readonly setting: string;
  readonly log: Logger;
  readonly routes: (app: FastifyInstance) => void;
}

/** @throws WaybillError `port_in_use` */
export async function startPrivateServer(
  options: PrivateServerOptions,
): Promise<{ close(): Promise<void> }> {
  const { host, port, setting } = options;
  const app = fastify({ logger: false, genReqId: () => uuidv7(), forceCloseConnections: true });
  app.setErrorHandler(problemHandler(options.log));
  answerUnknownRoutes(app);
  options.routes(app);
  await namingPort({ host, port, setting }, () => app.listen({ host, port }));
  return { close: () => app.close() };
}
