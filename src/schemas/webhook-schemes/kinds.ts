/** The kinds of schemes: what each one needs to judge a signature, and nothing that it does not use. */
import { z } from 'zod';
import { Message, digest, hmac, seeded } from './answer-signature';
import {
  FieldName,
  HashName,
  HeaderName,
  KeyEncoding,
  PlainField,
  SignatureField,
  TimestampField,
  TokenField,
} from './fields';
import { DeliveryAnswer, Handshake } from './handshakes';
import { DeliveryIdField, EventTypeField } from './identity';

/** Of every kind. */
const common = {
  docs: z.url({ protocol: /^https$/ }).optional(),
  delivery_id: DeliveryIdField.optional(),
  event_type: EventTypeField.optional(),
  kept_headers: z.array(HeaderName).max(50).optional(),
  /** For how long the vendor sends one delivery again; ids are remembered at least as long. */
  retry_horizon_s: z.int().positive().max(2_592_000).optional(),
  handshakes: z.array(Handshake).max(5).optional(),
  answer: DeliveryAnswer.optional(),
};

/** Of every kind that signs a message. */
const signed = {
  ...common,
  message: Message,
  signature: SignatureField,
  timestamp: TimestampField.optional(),
  id_header: HeaderName.optional(),
  body_hash_query: FieldName.optional(),
};

const PublicKeyEncoding = z.enum(['hex', 'base64', 'whpk']);
const publicKey = { key_encoding: PublicKeyEncoding.exclude(['whpk']).optional() };

const JwtAlgorithm = z.enum([
  ...(['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
]);

/**
 * A kind takes exactly its own fields, so that a hash for a JWT, or a message for a shared token, is
 * refused where it is written.
 */
export const SchemeFields = z.discriminatedUnion('kind', [
  z.strictObject({ ...hmac, ...signed }),
  z.strictObject({ ...digest, ...signed }),
  z.strictObject({
    ...signed,
    kind: z.literal('ed25519'),
    key_encoding: PublicKeyEncoding.optional(),
  }),
  z.strictObject({ ...seeded, ...signed }),
  z.strictObject({
    ...signed,
    ...publicKey,
    kind: z.literal('ecdsa-p256'),
    hash: z.literal('sha256').optional(),
  }),
  z.strictObject({ ...signed, ...publicKey, kind: z.literal('rsa-pkcs1'), hash: HashName }),
  z.strictObject({
    ...common,
    kind: z.literal('jwt'),
    algorithms: z.array(JwtAlgorithm).min(1),
    key_encoding: KeyEncoding.optional(),
    signature: TokenField,
    url_hash_claim: FieldName.optional(),
    body_hash_claim: FieldName.optional(),
    body_hash_required: z.boolean().optional(),
    leeway_s: z.int().nonnegative().max(3600).optional(),
    iat_tolerance_s: z.int().nonnegative().max(31_536_000).optional(),
  }),
  z.strictObject({ ...common, kind: z.literal('shared-token'), signature: PlainField }),
  z.strictObject({ ...common, kind: z.literal('basic-auth'), signature: PlainField }),
]);
export type SchemeFields = z.infer<typeof SchemeFields>;
