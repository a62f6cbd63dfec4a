/** What no route answers: a path that is known with other methods is 405 and names them, else 404. */
import type { FastifyInstance } from 'fastify';
import { WaybillError } from '../domain/errors';
import { HttpProblem } from './problems';

interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: Set<string>;
}

/** Must be called before the routes are registered. */
export function answerUnknownRoutes(app: FastifyInstance): void {
  const known = new Map<string, KnownPath>();
  app.addHook('onRoute', ({ url, method }) => {
    const path = known.get(url) ?? { pattern: patternOf(url), methods: new Set() };
    for (const name of [method].flat()) path.methods.add(name);
    known.set(url, path);
  });
  app.setNotFoundHandler((request) => {
    const path = request.url.split('?', 1)[0] ?? '';
    const found = [...known.values()].find(({ pattern }) => pattern.test(path));
    if (found === undefined) throw new WaybillError('not_found', 'There is nothing at this path.');
    const allowed = [...found.methods].sort().join(', ');
    throw new HttpProblem('method_not_allowed', `This path answers ${allowed}.`, {
      headers: { allow: allowed },
    });
  });
}

function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : escaped(part)));
  return new RegExp(`^${parts.join('/')}$`);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
