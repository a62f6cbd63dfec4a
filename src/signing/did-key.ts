/** `did:key` for Ed25519: multicodec 0xed01 and the 32 bytes of the key, in base58btc with the prefix z. */

const PREFIX = 'did:key:z';
const MULTICODEC = [0xed, 0x01];
const KEY_BYTES = 32;
/** 34 bytes give 47 or 48 digits; bounds the work on a foreign text. */
const MOST_DIGITS = 48;
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** The DID of a public key given as `x` of its JWK (base64url). Throws when it is not 32 bytes. */
export function didOfKey(x: string): string {
  const key = Buffer.from(x, 'base64url');
  if (key.length !== KEY_BYTES) throw new Error('an Ed25519 public key has 32 bytes');
  return PREFIX + base58(Buffer.concat([Buffer.from(MULTICODEC), key]));
}

/** The `x` of the JWK (base64url) behind a DID; null when it is no `did:key` of an Ed25519 key. */
export function keyOfDid(did: string): string | null {
  if (!did.startsWith(PREFIX) || did.length > PREFIX.length + MOST_DIGITS) return null;
  const bytes = fromBase58(did.slice(PREFIX.length));
  if (bytes?.length !== MULTICODEC.length + KEY_BYTES) return null;
  if (MULTICODEC.some((byte, index) => bytes[index] !== byte)) return null;
  const x = bytes.subarray(MULTICODEC.length).toString('base64url');
  // One text per key: a peer is compared by its DID.
  return didOfKey(x) === did ? x : null;
}

/** For bytes that do not begin with zero, as all of ours. */
function base58(bytes: Buffer): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`);
  let digits = '';
  while (rest > 0n) {
    digits = ALPHABET.charAt(Number(rest % 58n)) + digits;
    rest /= 58n;
  }
  return digits;
}

function fromBase58(digits: string): Buffer | null {
  let value = 0n;
  for (const digit of digits) {
    const worth = ALPHABET.indexOf(digit);
    if (worth < 0) return null;
    value = value * 58n + BigInt(worth);
  }
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}
