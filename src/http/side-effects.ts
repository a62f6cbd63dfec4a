/** How far the effect of a call may go, as its route says; a token may set a ceiling to that. */
import type { FastifyContextConfig } from 'fastify';
import type { SideEffect } from '../domain/capabilities';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Side-effect class of a call; `read` of a GET and `shared-write` of others unless told. */
    sideEffects?: SideEffect;
    /** Its effect is that of one capability: the route judges the token by that one's class. */
    ofCapability?: true;
  }
}

/** The class of a route's calls. */
export function sideEffectsOf(
  method: string | readonly string[],
  config: FastifyContextConfig = {},
): SideEffect {
  const reads = [method].flat().every((name) => name === 'GET' || name === 'HEAD');
  return config.sideEffects ?? (reads ? 'read' : 'shared-write');
}
