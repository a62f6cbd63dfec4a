/**
 * Supply-chain statements: what a signer says of one connector version, as a compact JWS
 * (docs/architecture, "Evidence"). Reading one checks its form and nothing of its signature.
 */
import { z } from 'zod';
import { Sha256, Version } from './fleet/texts';
import { Name } from './names';

/** What a deployment may require of a version before it becomes active. */
export const REQUIRABLE_KINDS = [
  'signature',
  'sbom',
  'provenance',
  'conformance',
  'vulnerability',
  'licence',
] as const;
export const EVIDENCE_KINDS = [...REQUIRABLE_KINDS, 'revocation'] as const;
export const VERDICTS = ['pass', 'fail'] as const;

/** Keeps a statement apart from other tokens that the same key signs. */
export const STATEMENT_TYPE = 'waybill-evidence';

export const MAX_STATEMENT_LENGTH = 16_384;

const PublicKeyText = z
  .string()
  .refine(
    (x) => Buffer.from(x, 'base64url').length === 32 && isCanonical(x),
    'write the 32 bytes of an Ed25519 public key in base64url',
  );

/** A public key; a private one is refused, so that none is ever published by mistake. */
export const EvidenceKey = z
  .strictObject({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: PublicKeyText,
    kid: z.string().max(200).optional(),
    alg: z.literal('EdDSA').optional(),
    use: z.literal('sig').optional(),
  })
  .transform(({ kty, crv, x }) => ({ kty, crv, x }));
export type EvidenceKey = z.infer<typeof EvidenceKey>;

const Header = z.strictObject({
  alg: z.literal('EdDSA'),
  typ: z.literal(STATEMENT_TYPE),
  kid: z.string().max(200).optional(),
  jwk: EvidenceKey,
});

const Instant = z.iso.datetime({
  offset: true,
  error: 'write an instant such as 2026-01-31T00:00:00Z',
});

/** The payload: all of it is signed, and none of it is said elsewhere. */
export const EvidenceClaims = z
  .strictObject({
    v: z.literal(1),
    connector: Name,
    version: Version,
    kind: z.enum(EVIDENCE_KINDS),
    artifactDigest: Sha256,
    /** Null: of a version without manifest. */
    manifestDigest: Sha256.nullable(),
    /** Of the document behind the statement: the bill of materials, the report, the log entry. */
    contentDigest: Sha256,
    /** Where that document is kept, for people; nothing is fetched from there. */
    contentRef: z
      .string()
      .regex(/^[\x21-\x7e]{1,1000}$/, 'write up to 1000 printable ASCII characters without blanks')
      .nullable()
      .default(null),
    verdict: z.enum(VERDICTS),
    issuedAt: Instant,
    /** Null: never. */
    expiresAt: Instant.nullable().default(null),
  })
  .refine(
    ({ issuedAt, expiresAt }) => expiresAt === null || Date.parse(expiresAt) > Date.parse(issuedAt),
    {
      path: ['expiresAt'],
      error: 'must be later than issuedAt',
    },
  )
  .refine(({ kind, verdict }) => kind !== 'revocation' || verdict === 'fail', {
    path: ['verdict'],
    error: 'of a revocation must be fail',
  });
export type EvidenceClaims = z.infer<typeof EvidenceClaims>;

export interface EvidenceStatement extends EvidenceClaims {
  /** The public key (base64url) that it says it is signed with. */
  readonly signer: string;
  readonly jws: string;
}

/** The statement, or what is wrong with its form; its signature is not looked at. */
export function readStatement(jws: string): EvidenceStatement | { readonly problem: string } {
  const [header, payload, signature, ...more] = jws.split('.', 4);
  if (header === undefined || payload === undefined || signature === undefined || more.length > 0) {
    return { problem: 'is no compact JWS: three parts with dots between them' };
  }
  if (![header, payload, signature].every(isCanonical)) {
    return { problem: 'is no compact JWS: its parts are base64url without padding' };
  }
  const head = Header.safeParse(json(header));
  if (!head.success)
    return { problem: `has a header that is not one of a statement: ${told(head.error)}` };
  const claims = EvidenceClaims.safeParse(json(payload));
  if (!claims.success)
    return { problem: `does not say what a statement says: ${told(claims.error)}` };
  return { ...claims.data, signer: head.data.jwk.x, jws };
}

/** One value has one spelling. */
function isCanonical(text: string): boolean {
  return text !== '' && Buffer.from(text, 'base64url').toString('base64url') === text;
}

function json(part: string): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url'));
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function told({ issues }: z.ZodError): string {
  return issues
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
    .join('; ');
}
