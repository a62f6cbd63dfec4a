/**
 * What can be sent through a connector version, as a fleet file says it: operations by the kind of the
 * adapter that sends them. A new kind is one line of `KINDS`, and one of the adapters that send.
 */
import { z } from 'zod';
import { SIDE_EFFECTS } from '../../domain/capabilities';
import { Duration } from '../durations';
import { Name } from '../names';
import type { ActionOperation, HttpOperation, Outbound, OutboundOperation } from '../outbound';
import { OUTBOUND_METHODS } from '../outbound';
import { SuccessCheck } from '../targets';
import { textParts, urlParts } from '../text-templates';
import { faultless } from './json-values';
import { template } from './templates';

/** How long starting an action may take. */
const ACTION_TIMEOUT_MS = 10_000;

const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/;

/** What HTTP itself or another field of the operation says. */
const TAKEN_HEADERS: readonly string[] = [
  ...['host', 'connection', 'content-length', 'transfer-encoding', 'te', 'trailer', 'upgrade'],
  ...['expect', 'keep-alive', 'proxy-authorization', 'proxy-connection'],
  ...['webhook-id', 'webhook-timestamp', 'webhook-signature'],
];

const HeaderName = z
  .string()
  .transform((name) => name.toLowerCase())
  .superRefine((name, context) => {
    const message = headerFault(name);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });

/** Why this is no name of a header that an operation may set; null: it is. */
function headerFault(name: string): string | null {
  if (!HEADER_NAME.test(name)) return 'write the name of an HTTP header';
  return TAKEN_HEADERS.includes(name) ? 'this header is not for an operation to set' : null;
}

const FilledText = z
  .string()
  .max(1000)
  .regex(/^[\x20-\x7e]*$/, 'write printable ASCII')
  .refine(
    (text) => textParts(text) !== null,
    'write {payload/…} or {config/…} for what is to be filled in',
  );

const Headers = z
  .record(z.string(), FilledText)
  .superRefine((headers, context) => {
    for (const name of Object.keys(headers)) {
      const message = headerFault(name.toLowerCase());
      if (message !== null) context.addIssue({ code: 'custom', path: [name], message });
    }
  })
  .transform((headers) =>
    Object.fromEntries(Object.entries(headers).map(([name, text]) => [name.toLowerCase(), text])),
  );

const ConfigText = FilledText.refine(
  (text) =>
    !(textParts(text) ?? []).some((one) => typeof one === 'object' && one.source !== 'config'),
  'may depend on {config/…} only',
);

const UrlTemplate = z
  .string()
  .max(2000)
  .superRefine((text, context) => {
    const parts = urlParts(text);
    if (typeof parts === 'string') context.addIssue({ code: 'custom', message: parts });
  });

const Auth = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('bearer') }),
  z.strictObject({ kind: z.literal('basic'), user: ConfigText }),
  z.strictObject({
    kind: z.literal('header'),
    name: HeaderName,
    prefix: z
      .string()
      .max(100)
      .regex(/^[\x20-\x7e]*$/, 'write printable ASCII')
      .default(''),
  }),
  z.strictObject({
    kind: z.literal('query'),
    name: z.string().regex(/^[A-Za-z0-9._~-]{1,100}$/, 'write the name of a query parameter'),
  }),
]);

const Success = z
  .strictObject({
    status: z
      .array(
        z.int().min(200, 'a success is a status of 2xx').max(299, 'a success is a status of 2xx'),
      )
      .min(1)
      .max(20)
      .transform((list) => [...new Set(list)].sort())
      .nullable()
      .default(null),
    body: SuccessCheck.nullable().default(null),
  })
  .transform(({ status, body }) => ({ statuses: status, body }));

const Timeout = Duration.pipe(
  z.number().min(100, 'must be at least 100ms').max(240_000, 'must be at most 240s'),
);

const WEBHOOK_ID = 'webhook-id';

/** How long a vendor knows a key, unless it is told: the least that the large ones promise. */
const KEY_WINDOW_MS = 86_400_000;

const HttpKind = z
  .strictObject({
    sideEffect: z.enum(SIDE_EFFECTS),
    method: z.enum(OUTBOUND_METHODS).default('POST'),
    url: UrlTemplate,
    headers: Headers.default({}),
    body: template(['from', 'config']).default(null),
    auth: Auth.nullable().default(null),
    success: Success.default({ statuses: null, body: null }),
    idempotency: z
      .strictObject({
        // That of Standard Webhooks is one where its signature is sent, too.
        header: z.union([z.literal(WEBHOOK_ID), HeaderName]),
        window: Duration.pipe(z.number().min(60_000, 'must be at least 1m')).default(KEY_WINDOW_MS),
      })
      .nullable()
      .default(null),
    standardWebhooks: z.boolean().default(false),
    timeout: Timeout.default(10_000),
  })
  .superRefine(({ headers, auth, idempotency, standardWebhooks, method, body }, context) => {
    const refuse = (path: string[], message: string): void => {
      context.addIssue({ code: 'custom', path, message });
    };
    const own = [
      ...(idempotency === null ? [] : [idempotency.header]),
      ...(auth?.kind === 'header' ? [auth.name] : []),
      ...(auth?.kind === 'bearer' || auth?.kind === 'basic' ? ['authorization'] : []),
    ];
    const twice = Object.keys(headers).find((name) => own.includes(name));
    if (twice !== undefined) refuse(['headers', twice], 'is set by auth or idempotency already');
    if (idempotency?.header === WEBHOOK_ID && !standardWebhooks) {
      refuse(['idempotency', 'header'], 'webhook-id is sent with standardWebhooks only');
    }
    if (method === 'GET' && body !== null) refuse(['body'], 'a GET has no body');
  })
  .transform(({ idempotency, timeout, body, ...rest }): HttpOperation => ({
    kind: 'http',
    ...rest,
    body: body as HttpOperation['body'],
    idempotencyHeader: idempotency?.header ?? null,
    idempotencyWindowMs: idempotency?.window ?? KEY_WINDOW_MS,
    timeoutMs: timeout,
  }));

const ActionKind = z
  .strictObject({ capability: Name, request: template(['from', 'config']).default(null) })
  .transform(({ capability, request }): ActionOperation => ({
    kind: 'action',
    capabilityId: capability,
    request: request as ActionOperation['request'],
    timeoutMs: ACTION_TIMEOUT_MS,
  }));

const operations = <Kind extends z.ZodType<OutboundOperation>>(kind: Kind) =>
  z
    .strictObject({
      operations: z
        .record(Name, kind)
        .refine((named) => Object.keys(named).length > 0, 'name at least one operation'),
    })
    .optional();

/** Which adapters there are, by the name that a fleet file uses. */
const KINDS = { http: operations(HttpKind), action: operations(ActionKind) } as const;

const MAX_OPERATIONS = 200;

/** Null: nothing can be sent. In the order of their names. */
export const OutboundDocument = faultless(z.strictObject(KINDS), (kinds) => {
  const names = Object.values(kinds).flatMap((kind) => Object.keys(kind?.operations ?? {}));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return { path: [], problem: `two operations have the name ${twice}` };
  if (names.length <= MAX_OPERATIONS) return null;
  return { path: [], problem: `name at most ${MAX_OPERATIONS} operations` };
})
  .transform((kinds): Outbound => {
    const all = Object.values(kinds).flatMap((kind) => Object.entries(kind?.operations ?? {}));
    return Object.fromEntries(all.sort(([one], [other]) => (one < other ? -1 : 1)));
  })
  .nullable()
  .default(null);
