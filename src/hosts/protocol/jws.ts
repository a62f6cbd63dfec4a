/** Compact JWS over JSON, one `typ` per kind of message so that none can pass for another. */
import { createHash } from 'node:crypto';
import {
  CompactSign,
  compactVerify,
  createLocalJWKSet,
  importJWK,
  type CryptoKey,
  type JSONWebKeySet,
} from 'jose';
import { signatureAlgorithm, type SigningKey } from '../../signing/keys';
import { keyOfDid } from '../../signing/did-key';

/** The kinds of messages, as the JWS header `typ`. */
export type MessageType = 'waybill-route' | 'waybill-host-answer' | 'waybill-host-lifecycle';

/** Lower-case hex SHA-256 of bytes, or of a text as UTF-8. */
export function sha256Hex(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex');
}

export async function signJson(
  payload: object,
  typ: MessageType,
  key: Pick<SigningKey, 'kid' | 'privateKey'>,
): Promise<string> {
  return await new CompactSign(Buffer.from(JSON.stringify(payload), 'utf8'))
    .setProtectedHeader({ alg: signatureAlgorithm, kid: key.kid, typ })
    .sign(key.privateKey);
}

/** The payload of a message signed by one of these keys (by `kid`); null when it is anything else. */
export async function openWithKeys(
  jws: string,
  typ: MessageType,
  keys: JSONWebKeySet,
): Promise<unknown> {
  const find = createLocalJWKSet(keys);
  return await open(jws, typ, (header) => find(header));
}

/** The payload of a message signed by the key of this DID, whatever `kid` it names; null otherwise. */
export async function openOfPeer(jws: string, typ: MessageType, did: string): Promise<unknown> {
  const x = keyOfDid(did);
  if (x === null) return null;
  const key = await importJWK({ kty: 'OKP', crv: 'Ed25519', x }, signatureAlgorithm).catch(
    () => null,
  );
  if (key === null || key instanceof Uint8Array) return null;
  return await open(jws, typ, () => key);
}

type FindKey = (header: Readonly<{ alg?: string; kid?: string }>) => CryptoKey | Promise<CryptoKey>;

async function open(jws: string, typ: MessageType, find: FindKey): Promise<unknown> {
  try {
    const verified = await compactVerify(jws, (header) => find(header), {
      algorithms: [signatureAlgorithm],
    });
    if (verified.protectedHeader.typ !== typ) return null;
    return JSON.parse(Buffer.from(verified.payload).toString('utf8')) as unknown;
  } catch {
    // Whatever is wrong with a foreign message, it was not signed by the expected key.
    return null;
  }
}
