/** The HTTP server: the ingress for vendors and the API for people and programs. */
import fastify, { type FastifyInstance } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import type { Socket } from 'node:net';
import { WaybillError } from '../domain/errors';
import { actionDecisionRoutes } from './action-decisions';
import { approvalRoutes } from './approvals';
import { closePromptly } from '../hosts/prompt-closing';
import { actionCallRoutes } from './action-calls';
import { actionRoutes } from './actions';
import { requireScopes, requireTokens } from './authorization';
import { discardBody } from './bodies';
import { boundNesting } from './body-nesting';
import { refuseInexactNumbers } from './exact-numbers';
import { bulkReplayReads } from './bulk-replay-reads';
import { bulkReplayRoutes } from './bulk-replays';
import { capabilityRoutes } from './capabilities';
import { capabilityResolutionRoute } from './capability-resolution';
import { deliverRoutes } from './deliver';
import { certificationRoutes } from './certifications';
import { connectorRoutes } from './connectors';
import { deliveryRoutes } from './deliveries';
import { connectionEventRoutes } from './connection-events';
import { DEFAULT_PATIENCE } from './deps';
import type { HttpDeps, LifecycleServerDeps, ServerDeps } from './deps';
import { fleetRoutes } from './fleet';
import { fleetPublicationRoutes } from './fleet-publications';
import { hostRoutes } from './hosts';
import { ingressRoutes } from './ingress';
import { takeIdempotencyKeys } from './idempotency';
import { serveOpenapi } from './openapi';
import { planRoutes } from './plans';
import { PROBLEM_TYPE, problemHandler, problemOf } from './problems';
import { processRoutes } from './process-routes';
import { eventRoutes } from './events';
import { quotaRoutes } from './quotas';
import { limitCalls, type CallLimits } from './rate-limits';
import { readmissionRoutes } from './readmissions';
import { receiptRoutes } from './receipts';
import { routeOperationRoutes } from './route-operations';
import { routeRoutes } from './routes';
import { subscriptionChangeRoutes } from './subscription-changes';
import { subscriptionRoutes } from './subscriptions';
import { targetRoutes } from './targets';
import type { TokenVerifier } from './tokens';
import { answerUnknownRoutes } from './unknown-routes';

/** Bodies of API calls are small; an ingress has a limit of its own. */
const API_BODY_LIMIT_BYTES = 65_536;

/** How often Node looks for requests that take too long. */
const TIMEOUT_CHECK_MS = 1_000;

/** Longer than a balancer's, so that it is never the server that closes a reused connection. */
const KEEP_ALIVE_MS = 75_000;

/** Builds the server; `listen` starts it, `close` lets requests under way finish. */
export function createServer(deps: AnyServerDeps): FastifyInstance {
  const answerProblem = problemHandler(deps.log);
  const { requestMs } = deps.patience ?? DEFAULT_PATIENCE;
  const app = fastify({
    logger: false,
    genReqId: deps.newRequestId,
    trustProxy: deps.trustedProxies.length === 0 ? false : [...deps.trustedProxies],
    bodyLimit: API_BODY_LIMIT_BYTES,
    requestTimeout: requestMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    // Until the last connection is closed, requests on it are answered as ever.
    return503OnClosing: false,
    // Node swaps the two time-outs where the one for the head is the longer one.
    http: { connectionsCheckingInterval: TIMEOUT_CHECK_MS, headersTimeout: requestMs },
    routerOptions: { maxParamLength: 1_000 },
    frameworkErrors: answerProblem,
    clientErrorHandler: (error, socket) => {
      answerBrokenRequest(deps, error.code, socket);
    },
  });
  closePromptly(app);
  app.setValidatorCompiler(validatorCompiler).setSerializerCompiler(serializerCompiler);
  app.setErrorHandler(answerProblem);
  app.addHook('onSend', (request, reply, _payload, done) => {
    void reply.headers({ 'x-request-id': request.id, 'x-content-type-options': 'nosniff' });
    discardBody(request.raw);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { method, id: requestId } = request;
    const route = request.routeOptions.url ?? '(none)';
    const durationMs = Math.round(reply.elapsedTime);
    deps.log.debug({ requestId, method, route, status: reply.statusCode, durationMs }, 'answered');
    done();
  });
  answerUnknownRoutes(app);
  serveOpenapi(app);
  app.register((routes, _options, done) => {
    registerRoutes(routes, deps);
    done();
  });
  return app;
}

type AnyServerDeps = HttpDeps | LifecycleServerDeps;

function registerRoutes(app: FastifyInstance, deps: AnyServerDeps): void {
  processRoutes(app, deps);
  const { lifecycle, log } = deps;
  if (lifecycle !== null) {
    app.register((hosts, _options, done) => {
      hostRoutes(hosts, lifecycle, log);
      done();
    });
  }
  if (deps.serve !== null) registerParts(app, deps);
}

function registerParts(app: FastifyInstance, deps: HttpDeps): void {
  if (deps.serve.ingress) {
    app.register((ingress, _options, done) => {
      ingressRoutes(ingress, deps);
      done();
    });
  }
  const { api: served, admin } = deps.serve;
  const { callLimits: limits } = deps;
  if (admin !== null) {
    app.register((routes, _options, done) => {
      takeTokens(routes, admin.tokens, deps, limits);
      subscriptionChangeRoutes(routes, deps, admin);
      connectionEventRoutes(routes, deps, admin);
      fleetPublicationRoutes(routes, deps, admin);
      done();
    });
  }
  if (served !== null) {
    app.register((api, _options, done) => {
      takeTokens(api, served.tokens, deps, limits);
      deliveryRoutes(api, deps);
      deliverRoutes(api, deps);
      readmissionRoutes(api, deps);
      bulkReplayRoutes(api, deps);
      bulkReplayReads(api, deps);
      targetRoutes(api, deps);
      actionRoutes(api, deps);
      actionCallRoutes(api, deps);
      routeRoutes(api, deps);
      routeOperationRoutes(api, deps);
      approvalRoutes(api, deps);
      actionDecisionRoutes(api, deps);
      quotaRoutes(api, deps);
      eventRoutes(api, deps);
      fleetRoutes(api, deps);
      capabilityRoutes(api, deps);
      capabilityResolutionRoute(api, deps);
      connectorRoutes(api, deps);
      certificationRoutes(api, deps);
      planRoutes(api, deps);
      receiptRoutes(api, deps);
      subscriptionRoutes(api, deps);
      done();
    });
  }
}

/** What all calls with a token share. */
function takeTokens(
  app: FastifyInstance,
  tokens: TokenVerifier,
  deps: HttpDeps,
  limits: CallLimits,
): void {
  requireTokens(app, tokens);
  // Before the scope: who may not call is counted, too.
  limitCalls(app, limits);
  requireScopes(app);
  refuseInexactNumbers(app);
  boundNesting(app);
  takeIdempotencyKeys(app, { ...deps, newEffectId: deps.newRequestId });
  app.addHook('onSend', (_request, reply, _payload, ready) => {
    void reply.header('cache-control', 'no-store');
    ready();
  });
}

/** What cannot be read as HTTP, or took too long, never reaches a route. */
function answerBrokenRequest(deps: ServerDeps, code: string, socket: Socket): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const failure = brokenRequest(code);
  const body = JSON.stringify(problemOf(failure, deps.newRequestId()));
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: ${PROBLEM_TYPE}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function brokenRequest(code: string): WaybillError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new WaybillError('body_incomplete', 'The request took too long to arrive.');
    case 'HPE_HEADER_OVERFLOW':
      return new WaybillError('invalid_request', 'The head of a request has at most 16 KiB.');
    default:
      return new WaybillError('invalid_request', 'This is not a readable HTTP request.');
  }
}
