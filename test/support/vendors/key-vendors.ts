/** Vendors that sign with a private key of their own. */
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { bytesOf, messageVendor, seconds, type MessageVendor, type Vendor } from './vendor';

interface Pair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const pairsOf = (make: () => Pair) => ({ own: make(), other: make() });
const ed25519 = pairsOf(() => generateKeyPairSync('ed25519'));
const p256 = pairsOf(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }));
const rsa = pairsOf(() => generateKeyPairSync('rsa', { modulusLength: 2048 }));

/** The key itself, without the 12 bytes that say what it is. */
const rawKey = (key: KeyObject): Buffer => key.export({ format: 'der', type: 'spki' }).subarray(12);
const spki = (key: KeyObject): string =>
  key.export({ format: 'der', type: 'spki' }).toString('base64');
const pem = (key: KeyObject): string => key.export({ format: 'pem', type: 'spki' }).toString();

function signing(
  pairs: Readonly<Record<'own' | 'other', Pair>>,
  hash: string | null,
  text: (key: KeyObject) => string,
): Pick<MessageVendor, 'secrets' | 'mac'> {
  return {
    secrets: { own: text(pairs.own.publicKey), other: text(pairs.other.publicKey) },
    mac: (key, message) => sign(hash, bytesOf(message), pairs[key].privateKey),
  };
}

const whpk = (key: KeyObject) => `whpk_${rawKey(key).toString('base64')}`;

const standard = (scheme: string, prefix: string): Vendor =>
  messageVendor({
    ...{ scheme, header: `${prefix}-signature`, encoding: 'base64' },
    ...signing(ed25519, null, whpk),
    field: (signature) => `v1a,${signature}`,
    message: ({ id, timestamp, body }) => [`${id}.${timestamp}.`, body],
    time: { place: 'header', header: `${prefix}-timestamp`, toleranceS: 300, text: seconds },
    idHeader: `${prefix}-id`,
  });

export const keyVendors: readonly Vendor[] = [
  standard('standard-webhooks-v1a', 'webhook'),
  standard('standard-webhooks-svix-v1a', 'svix'),
  messageVendor({
    ...{ scheme: 'discord', header: 'X-Signature-Ed25519', encoding: 'hex' },
    ...signing(ed25519, null, (key) => rawKey(key).toString('hex')),
    message: ({ timestamp, body }) => [timestamp, body],
    time: { place: 'header', header: 'X-Signature-Timestamp', toleranceS: 300, text: seconds },
  }),
  messageVendor({
    scheme: 'sendgrid',
    ...{ header: 'X-Twilio-Email-Event-Webhook-Signature', encoding: 'base64' },
    ...signing(p256, 'sha256', spki),
    message: ({ timestamp, body }) => [timestamp, body],
    time: {
      ...{ place: 'header', toleranceS: null, text: seconds },
      header: 'X-Twilio-Email-Event-Webhook-Timestamp',
    },
    body: (id) => Buffer.from(`[{"sg_event_id": "${id}", "event": "open"}]\r\n`),
  }),
  messageVendor({
    ...{ scheme: 'wise', header: 'X-Signature-SHA256', encoding: 'base64' },
    ...signing(rsa, 'sha256', pem),
    idHeader: 'X-Delivery-Id',
  }),
];
