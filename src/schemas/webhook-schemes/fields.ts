/** The small parts of a webhook scheme: names of places, encodings, where a signature and a time are. */
import { z } from 'zod';

export const HashName = z.enum(['sha1', 'sha256', 'sha384', 'sha512']);
export type HashName = z.infer<typeof HashName>;

export const KeyEncoding = z.enum(['utf8', 'hex', 'base64', 'whsec', 'whpk', 'sha1-of-utf8']);
export type KeyEncoding = z.infer<typeof KeyEncoding>;

export const SignatureEncoding = z.enum(['hex', 'base64', 'base64url']);
export type SignatureEncoding = z.infer<typeof SignatureEncoding>;

export const TimestampUnit = z.enum(['s', 'ms', 'iso']);
export type TimestampUnit = z.infer<typeof TimestampUnit>;

export const HeaderName = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be a header name');
export const JsonPath = z
  .string()
  .max(200)
  .regex(/^[^.]+(\.[^.]+)*$/, 'must be a JSON path such as data.items.0.id');
/** The name of a query parameter, a form field, a claim or a setting. */
export const FieldName = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[^\s{}]+$/, 'must be a name without blanks and braces');
const Separator = z.string().min(1).max(8);

export const inHeader = { location: z.literal('header'), name: HeaderName };

/** What a name must be, by the place that it is looked up in. */
const nameIn = { header: HeaderName, query: FieldName, param: FieldName, body: JsonPath } as const;

/** What is wrong with a name for its place, or null. */
export function nameProblem(location: keyof typeof nameIn, name: string): string | null {
  const parsed = nameIn[location].safeParse(name);
  return parsed.success ? null : (parsed.error.issues[0]?.message ?? 'is not a name');
}

const SignatureLocation = z.enum(['header', 'query', 'param', 'body', 'response']);
const place = { location: SignatureLocation, name: z.string().min(1).max(200) };

/** Where the signature is and how it is written; `encoding` differs from kind to kind. */
function signatureField<Encoding extends z.core.$ZodLooseShape>(encoding: Encoding) {
  return z.discriminatedUnion('format', [
    z.strictObject({ ...place, format: z.literal('raw'), ...encoding }),
    z.strictObject({
      ...place,
      format: z.literal('prefix'),
      prefix: z.string().min(1).max(32),
      ...encoding,
    }),
    z.strictObject({
      ...place,
      format: z.literal('pairs'),
      sep: Separator,
      eq: Separator,
      sig_keys: z.array(z.string().min(1)).min(1).max(10),
      ...encoding,
    }),
  ]);
}

/** Of the kinds whose signature is bytes. */
export const SignatureField = signatureField({ encoding: SignatureEncoding });
/** Of a compact JWS, which is base64url by its own definition. */
export const TokenField = signatureField({ encoding: z.literal('base64url').optional() });
/** Of the kinds that compare a text as it is. */
export const PlainField = signatureField({});

export type AnySignatureField =
  z.infer<typeof SignatureField> | z.infer<typeof TokenField> | z.infer<typeof PlainField>;

export const TimestampField = z.strictObject({
  location: z.enum(['header', 'signature', 'body']),
  name: z.string().min(1).max(200),
  unit: TimestampUnit,
  tolerance_s: z.int().nonnegative().max(31_536_000).nullable(),
  tolerance_basis: z.string().optional(),
});
export type TimestampField = z.infer<typeof TimestampField>;
