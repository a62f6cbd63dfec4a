/**
 * Vendors as their documentation describes them, written without any code of the product: each signs
 * requests for the shipped scheme of its name.
 */
import { createHmac } from 'node:crypto';
import type { HeaderPair } from '../../../src/signing/webhooks/headers';
import type { WebhookRequest } from '../../../src/signing/webhooks/request';

export interface SignInput {
  /** Which of the vendor's two keys signs. */
  readonly key?: 'own' | 'other';
  readonly body?: Uint8Array;
  readonly id?: string;
  /** The timestamp's text. */
  readonly timestamp?: string;
  readonly url?: string;
}

/** A signed request before its signature is put in. */
export interface Signed {
  /** Bare, in the vendor's encoding. */
  readonly signature: string;
  /** The signature field with a bare signature put in. */
  readonly field: (signature: string) => string;
  /** The request with these signature fields; one a header line, or the first of them in the body. */
  readonly build: (...fields: readonly string[]) => WebhookRequest;
}

export interface Vendor {
  /** The shipped scheme. */
  readonly scheme: string;
  /** The scheme's name, with what sets this one apart. */
  readonly name: string;
  /** What is configured, for either key. */
  readonly secrets: Readonly<Record<'own' | 'other', string>>;
  /** `jws`, `token` and `basic` have no bytes of their own that could be flipped. */
  readonly encoding: 'hex' | 'base64' | 'jws' | 'token' | 'basic';
  /** Whether any bytes at all can be signed as a body. */
  readonly signsBytes: boolean;
  /** What the vendor signs of the body, where that is less than its bytes. */
  readonly signsOnly?: 'fields' | 'nothing';
  /** The reason when a body was changed that is signed. */
  readonly changedBody: string;
  readonly time?: VendorTime;
  /** An ordinary delivery of this id. */
  readonly body: (id: string, timestamp: string) => Buffer;
  /** A header that has the vendor's delivery id; without one the body has it, or is it. */
  readonly idHeader?: string;
  readonly sign: (input?: SignInput) => Signed;
}

export interface VendorTime {
  readonly place: 'header' | 'pairs' | 'body' | 'claims';
  readonly header?: string;
  /** Null: the vendor names none. */
  readonly toleranceS: number | null;
  readonly text: (atMs: number) => string;
}

export const signedAtMs = 1_700_000_000_000;
export const vendorUrl = 'https://hooks.example.test/webhooks/i1?a=b';

export const seconds = (atMs: number): string => String(Math.floor(atMs / 1000));
export const milliseconds = (atMs: number): string => String(atMs);
export const iso = (atMs: number): string => new Date(atMs).toISOString();

export const jsonBody = (id: string): Buffer =>
  Buffer.from(`{"id": "${id}", "type": "a.b", "n": 1.0}\n`);

/** Everything that a message can be made of. */
export interface Material {
  readonly body: Uint8Array;
  readonly id: string;
  readonly timestamp: string;
  readonly url: string;
  readonly secret: string;
}

export type Pieces = readonly (string | Uint8Array)[];

export interface MessageVendor {
  readonly scheme: string;
  readonly name?: string;
  readonly header: string;
  readonly encoding: 'hex' | 'base64';
  readonly field?: (signature: string, timestamp: string) => string;
  readonly message?: (material: Material) => Pieces;
  readonly mac: (key: 'own' | 'other', message: Pieces) => Buffer;
  readonly secrets: Readonly<Record<'own' | 'other', string>>;
  readonly time?: VendorTime;
  readonly idHeader?: string;
  readonly body?: Vendor['body'];
  readonly contentType?: string;
}

/** A vendor that signs bytes and sends the signature in a header. */
export function messageVendor(input: MessageVendor): Vendor {
  const { scheme, name = scheme, time, idHeader, encoding, secrets, body = jsonBody } = input;
  const {
    message = (material: Material) => [material.body],
    field = (signature: string) => signature,
  } = input;
  return {
    ...{ scheme, name, secrets, encoding, body, signsBytes: true },
    changedBody: 'signature_mismatch',
    ...(time && { time }),
    ...(idHeader !== undefined && { idHeader }),
    sign(sign = {}) {
      const { key = 'own', id = 'evt_1', url = vendorUrl } = sign;
      const timestamp = sign.timestamp ?? time?.text(signedAtMs) ?? '';
      const bytes = sign.body ?? body(id, timestamp);
      const material = { body: bytes, id, timestamp, url, secret: secrets[key] };
      const others: HeaderPair[] = [['Content-Type', input.contentType ?? 'application/json']];
      if (time?.header !== undefined) others.push([time.header, timestamp]);
      if (idHeader !== undefined) others.push([idHeader, id]);
      return {
        signature: input.mac(key, message(material)).toString(encoding),
        field: (signature) => field(signature, timestamp),
        build: (...fields) => ({
          ...{ method: 'POST', url, body: bytes },
          headers: [...others, ...fields.map((text): HeaderPair => [input.header, text])],
        }),
      };
    },
  };
}

/** The two secrets of vendors that share one with us; also good as Base64 and with its prefix. */
export const sharedSecrets = {
  own: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  other: 'whsec_plJ3nmyCDGBKInavdOK15jsl',
} as const;

export function hmac(
  hash: string,
  secrets: Readonly<Record<'own' | 'other', string>>,
  keyOf: (secret: string) => Buffer = (secret) => Buffer.from(secret, 'utf8'),
): MessageVendor['mac'] {
  return (key, message) => {
    const mac = createHmac(hash, keyOf(secrets[key]));
    for (const piece of message) mac.update(piece);
    return mac.digest();
  };
}

export const bytesOf = (message: Pieces): Buffer =>
  Buffer.concat(message.map((piece) => Buffer.from(piece as Uint8Array)));

/** The signed request as the vendor sends it. */
export function sent({ signature, field, build }: Signed): WebhookRequest {
  return build(field(signature));
}
