/** Who calls, and whether the token allows this call. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { WaybillError } from '../domain/errors';
import { HttpProblem } from './problems';
import type { Scope } from './scopes';
import { sideEffectsOf } from './side-effects';
import { requireClass } from './token-limits';
import type { Principal, TokenVerifier } from './tokens';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that a call of this route needs. */
    scope?: Scope;
  }
}

const principals = new WeakMap<FastifyRequest, Principal>();

/** Judges the token of every request to the instance's routes before its body is read. */
export function requireTokens(app: FastifyInstance, tokens: TokenVerifier): void {
  app.addHook('onRequest', async (request) => {
    principals.set(request, await tokens.verify(request.headers.authorization));
  });
}

/**
 * Judges whether the token of a request opens its route, and goes as far as the route does.
 * Routes name their scope in `config.scope`; one without any is open to no token at all.
 */
export function requireScopes(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { config, method } = request.routeOptions;
    const { scope } = config;
    if (scope === undefined) throw new WaybillError('internal', 'a route names no scope');
    requireScope(request, scope);
    if (config.ofCapability !== true) {
      requireClass(principalOf(request), sideEffectsOf(method, config));
    }
    done();
  });
}

/** The principal of a request that passed. */
export function principalOf(request: FastifyRequest): Principal {
  const principal = principals.get(request);
  if (principal === undefined) throw new WaybillError('internal', 'a route asked for no token');
  return principal;
}

/**
 * For a part of a call that needs a scope of its own.
 * @throws HttpProblem `scope_missing`
 */
export function requireScope(request: FastifyRequest, scope: Scope): void {
  if (!principalOf(request).scopes.has(scope)) throw scopeMissing(scope);
}

function scopeMissing(scope: Scope): HttpProblem {
  return new HttpProblem('scope_missing', `The token lacks the scope ${scope}.`, {
    headers: {
      'www-authenticate': `Bearer realm="waybill", error="insufficient_scope", scope="${scope}"`,
    },
  });
}
