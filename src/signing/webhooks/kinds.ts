/** The port of a kind of scheme; the implementations are in the folder beside it, one file a kind. */

/** Says whether one decoded signature is right. Constant time; a wrong length is a mismatch. */
export type SignatureTest = (signature: Uint8Array) => boolean;

/** A secret's key at work: does what a message costs once, then tests signatures against it. */
export type MessageTest = (message: readonly Uint8Array[]) => SignatureTest;

/** Reads the text of a configured secret; null where it is empty or no key of the scheme. */
export type SecretReader = (secret: string) => MessageTest | null;

/** The other direction, for what must be answered: the bytes of our own signature. */
export type MessageSigner = (secret: string, message: readonly Uint8Array[]) => Uint8Array | null;
