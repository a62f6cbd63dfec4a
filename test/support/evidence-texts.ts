/** Signed statements of evidence for tests, and their documents in a fleet file. */
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { z } from 'zod';

export interface Signer {
  /** The public key as a JWK in flow style. */
  readonly jwk: string;
  readonly privateKey: KeyObject;
  readonly x: string;
}

export const ARTIFACT = 'a1'.repeat(32);
/** That of the tracker in fleet-texts. */
export const MANIFEST = '5f'.repeat(32);

const Exported = z.object({ x: z.string() });

export function newSigner(): Signer {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const { x } = Exported.parse(publicKey.export({ format: 'jwk' }));
  return { jwk: `{ kty: OKP, crv: Ed25519, x: ${x} }`, privateKey, x };
}

/** The claims of a passing SBOM of the tracker, issued a minute ago and good for an hour. */
export function claims(changes: Readonly<Record<string, unknown>> = {}): object {
  return {
    ...{ v: 1, connector: 'tracker', version: '1.0.0', kind: 'sbom', verdict: 'pass' },
    ...{ artifactDigest: ARTIFACT, manifestDigest: MANIFEST, contentDigest: 'c3'.repeat(32) },
    ...{ issuedAt: after(-60_000), expiresAt: after(3_600_000), ...changes },
  };
}

/** An instant so many milliseconds from now. */
export function after(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}

/** A compact JWS, of whatever claims and header. */
export function jws(
  signer: Signer,
  payload: object,
  header: Readonly<Record<string, unknown>> = {},
): string {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: signer.x };
  const head = { alg: 'EdDSA', typ: 'waybill-evidence', jwk, ...header };
  const text = [head, payload]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signature = sign(null, Buffer.from(text), signer.privateKey);
  return `${text}.${signature.toString('base64url')}`;
}

export function evidence(id: string, statement: string): string {
  return `kind: Evidence\nid: ${id}\nstatement: ${statement}\n`;
}

/** The document of a statement with these claims. */
export function stated(
  signer: Signer,
  id: string,
  changes: Readonly<Record<string, unknown>> = {},
): string {
  return evidence(id, jws(signer, claims(changes)));
}

/** Documents that vouch for a version of a connector: one of each of these kinds. */
export function vouching(
  signer: Signer,
  version: Readonly<Record<string, unknown>>,
  kinds: readonly string[],
): Readonly<Record<string, unknown>>[] {
  const { id, manifestDigest = null } = version;
  return kinds.map((kind) => {
    const said = { connector: id, version: version['version'], kind, manifestDigest };
    const statement = jws(signer, claims(said));
    return { kind: 'Evidence', id: `${String(id)}-${kind}`, statement };
  });
}
