/** The OpenAPI 3.1 document, generated from the schemas that the routes validate with. */
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { errorCatalogue, type ErrorCode } from '../domain/errors';
import { Problem } from '../schemas/api-problems';
import { PROBLEM_TYPE } from './problems';
import { SCOPES, type Scope } from './scopes';
import { sideEffectsOf } from './side-effects';

/** Of the API, not of the program: it changes when a client must. */
const API_VERSION = '1.0.0';

/** The codes that any call with a token can be answered with. */
export const EVERY_CALL = [
  'unauthenticated',
  'scope_missing',
  'capability_not_permitted',
  'invalid_request',
  'rate_limited',
  'storage_unavailable',
  'token_keys_unavailable',
] as const satisfies readonly ErrorCode[];

interface ResponseDoc<Schema extends z.ZodType> {
  readonly description: string;
  readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
}

/** A JSON answer. */
export function answer<Schema extends z.ZodType>(
  description: string,
  schema: Schema,
): ResponseDoc<Schema> {
  return { description, content: { 'application/json': { schema } } };
}

/** The problems that a route can answer, by status. A fault of ours is in each. */
export function problems(codes: readonly ErrorCode[]): Record<string, ResponseDoc<typeof Problem>> {
  const byStatus: Record<string, ResponseDoc<typeof Problem>> = {};
  for (const code of [...new Set<ErrorCode>([...codes, 'internal'])]) {
    const { status, message } = errorCatalogue[code];
    const before = byStatus[String(status)]?.description;
    byStatus[String(status)] = {
      description: [...(before === undefined ? [] : [before]), `\`${code}\`: ${message}`].join(' '),
      content: { [PROBLEM_TYPE]: { schema: Problem } },
    };
  }
  return byStatus;
}

/** The security requirement of a route that needs this scope. */
export function needs(scope: Scope): { bearer: string[] }[] {
  return [{ bearer: [scope] }];
}

/** Must be called before the routes are registered; serves the document under /openapi.json. */
export function serveOpenapi(app: FastifyInstance): void {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Waybill',
        description:
          'A durable router for side effects: receiving, finding and replaying deliveries; starting, ' +
          'finding and cancelling actions.',
        version: API_VERSION,
      },
      tags: [
        { name: 'ingress', description: 'Where vendors deliver.' },
        { name: 'replays', description: 'Replaying many deliveries as one job.' },
        { name: 'deliveries', description: 'Finding and replaying deliveries.' },
        { name: 'subscriptions', description: 'What is received, and by which address.' },
        { name: 'actions', description: 'Starting, finding and cancelling actions.' },
        { name: 'receipts', description: 'Evidence that can be checked offline.' },
        { name: 'routes', description: 'Where actions went.' },
        {
          name: 'catalog',
          description: 'Which capabilities there are, and whether a plan can be started.',
        },
        { name: 'connectors', description: 'Connector versions, and having them certified.' },
        { name: 'events', description: 'What happened, and whom it is told.' },
        { name: 'fleet', description: 'The hosts that carry actions out.' },
        { name: 'hosts', description: 'Where connector hosts say that they are there.' },
        { name: 'process', description: 'Health, keys and this document.' },
      ],
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: describeTokens(),
          },
        },
      },
    },
    transform: described,
    transformObject: (document) => portable(answersOnly(jsonSchemaTransformObject(document))),
  });
}

type Transformed = Parameters<typeof jsonSchemaTransform>[0];

/** With what the route's config says, which is not part of its schema. */
function described(given: Transformed): ReturnType<typeof jsonSchemaTransform> {
  const { schema, url } = jsonSchemaTransform(given);
  const { config, method } = given.route;
  const keyed = config?.idempotencyKey;
  const extensions = {
    'x-side-effects': sideEffectsOf(method, config),
    'x-idempotency': keyed === undefined ? 'natural' : 'key-header',
  };
  const headers =
    keyed === undefined || keyed === 'own' ? {} : { headers: keyHeader(keyed === 'required') };
  return { url, schema: { ...schema, ...headers, ...extensions } };
}

function keyHeader(required: boolean): object {
  const description =
    'A text of your own, new with each request: repeated with the same one, a request is answered ' +
    'the same and done once.';
  const header = { type: 'string', minLength: 1, maxLength: 255, description };
  return {
    type: 'object',
    properties: { 'Idempotency-Key': header },
    ...(required ? { required: ['Idempotency-Key'] } : {}),
  };
}

function describeTokens(): string {
  const scopes = Object.entries(SCOPES).map(([scope, allows]) => `\`${scope}\`: ${allows}`);
  return `Claims: \`sub\`, \`tenant\`, \`scope\` (space separated). Scopes: ${scopes.join(' ')}`;
}

type OpenapiObject = ReturnType<typeof jsonSchemaTransformObject>;

/** Patterns as every dialect of regular expressions reads them: not all know properties of characters. */
function portable(document: OpenapiObject): OpenapiObject {
  const text = JSON.stringify(document);
  const plain = JSON.stringify(String.raw`\u0000-\u001f\u007f-\u009f`).slice(1, -1);
  const named = JSON.stringify(String.raw`\p{Cc}\p{Cs}`).slice(1, -1);
  return JSON.parse(text.replaceAll(named, () => plain)) as OpenapiObject;
}

/**
 * Without the second form that every named schema gets for use in a request: no request here has a
 * named schema.
 */
function answersOnly(document: OpenapiObject): OpenapiObject {
  const schemas = 'components' in document ? (document.components.schemas ?? {}) : {};
  for (const name of Object.keys(schemas)) {
    if (name.endsWith('Input')) Reflect.deleteProperty(schemas, name);
  }
  return document;
}
