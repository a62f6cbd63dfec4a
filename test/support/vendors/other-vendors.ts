/** Vendors whose requests have a shape of their own. */
import { createHash, createHmac } from 'node:crypto';
import type { HeaderPair } from '../../../src/signing/webhooks/headers';
import {
  jsonBody,
  messageVendor,
  hmac,
  seconds,
  sharedSecrets as secrets,
  signedAtMs,
  vendorUrl,
  type Signed,
  type SignInput,
  type Vendor,
} from './vendor';

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');
const json: HeaderPair = ['Content-Type', 'application/json'];

/** Twilio with a body that is no form: its hash is in the query of the signed URL. */
const twilioHashed: Vendor = {
  ...messageVendor({
    ...{ scheme: 'twilio', name: 'twilio (hashed body)', header: 'X-Twilio-Signature' },
    ...{ encoding: 'base64', secrets, mac: hmac('sha1', secrets) },
  }),
  changedBody: 'body_hash_mismatch',
  idHeader: 'I-Twilio-Idempotency-Token',
  sign({
    key = 'own',
    id = 'evt_1',
    url = vendorUrl,
    body = jsonBody(id),
  }: SignInput = {}): Signed {
    const called = `${url}${url.includes('?') ? '&' : '?'}bodySHA256=${sha256(body)}`;
    const headers: HeaderPair[] = [json, ['I-Twilio-Idempotency-Token', id]];
    return {
      signature: createHmac('sha1', secrets[key]).update(called).digest('base64'),
      field: (signature) => signature,
      build: (...fields) => ({
        ...{ method: 'POST', url: called, body },
        headers: [...headers, ...fields.map((text): HeaderPair => ['X-Twilio-Signature', text])],
      }),
    };
  },
};

const twilioForm: Vendor = {
  ...messageVendor({
    ...{
      scheme: 'twilio',
      name: 'twilio (form)',
      header: 'X-Twilio-Signature',
      encoding: 'base64',
    },
    ...{ secrets, mac: hmac('sha1', secrets), contentType: 'application/x-www-form-urlencoded' },
    body: (id) => Buffer.from(`To=%2B1&MessageSid=${id}&MessageStatus=sent&Body=a+b`),
    message: ({ url, body }) => {
      const form = [...new URLSearchParams(Buffer.from(body).toString())];
      const sorted = form.sort(([one], [other]) => (one < other ? -1 : 1));
      return [url + sorted.map(([name, value]) => name + value).join('')];
    },
  }),
  signsBytes: false,
};

const adyenSecrets = { own: '44'.repeat(32), other: 'A5'.repeat(32) };
const adyen: Vendor = {
  ...{ scheme: 'adyen', name: 'adyen', secrets: adyenSecrets, encoding: 'base64' },
  ...{ signsBytes: false, signsOnly: 'fields', changedBody: 'signature_mismatch' },
  body: (id) => Buffer.from(id),
  sign({ key = 'own', id = 'evt_1', url = vendorUrl }: SignInput = {}): Signed {
    const item = {
      ...{ pspReference: id, originalReference: 'o', merchantAccountCode: 'm', reason: 'r' },
      ...{ merchantReference: 'ref', eventCode: 'AUTHORISATION', success: 'true' },
      amount: { currency: 'EUR', value: 1000 },
    };
    const text = `${id}:o:m:ref:1000:EUR:AUTHORISATION:true`;
    const mac = createHmac('sha256', Buffer.from(adyenSecrets[key], 'hex')).update(text);
    return {
      signature: mac.digest('base64'),
      field: (signature) => signature,
      build: (...fields) => {
        const additionalData = fields[0] === undefined ? {} : { hmacSignature: fields[0] };
        const notificationItems = [{ NotificationRequestItem: { ...item, additionalData } }];
        const body = Buffer.from(JSON.stringify({ live: 'false', notificationItems }, null, 1));
        return { method: 'POST', url, headers: [json], body };
      },
    };
  },
};

const jwtSecrets = { own: 'a'.repeat(64), other: 'b'.repeat(64) };
const messagebird: Vendor = {
  ...{ scheme: 'messagebird', name: 'messagebird', secrets: jwtSecrets, encoding: 'jws' },
  ...{ signsBytes: true, changedBody: 'claim_mismatch', body: jsonBody },
  time: { place: 'claims', toleranceS: 60, text: seconds },
  sign({ key = 'own', id = 'evt_1', url = vendorUrl, ...input }: SignInput = {}): Signed {
    const body = input.body ?? jsonBody(id);
    const at = Number(input.timestamp ?? seconds(signedAtMs));
    const claims = {
      ...{ iss: 'MessageBird', nbf: at, exp: at + 60, jti: id, url_hash: sha256(url) },
      ...(body.length > 0 && { payload_hash: sha256(body) }),
    };
    const parts = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const mac = createHmac('sha256', jwtSecrets[key]).update(parts.join('.'));
    return {
      signature: `${parts.join('.')}.${mac.digest('base64url')}`,
      field: (signature) => signature,
      build: (...fields) => ({
        ...{ method: 'POST', url, body },
        headers: [json, ...fields.map((text): HeaderPair => ['MessageBird-Signature-JWT', text])],
      }),
    };
  },
};

interface TokenVendor {
  readonly scheme: string;
  readonly header: string;
  readonly encoding: 'token' | 'basic';
  readonly secrets: Vendor['secrets'];
  readonly idHeader?: string;
}

function tokenVendor({ scheme, header, encoding, secrets: both, idHeader }: TokenVendor): Vendor {
  return {
    ...{ scheme, name: scheme, secrets: both, encoding, body: jsonBody },
    ...{ signsBytes: true, signsOnly: 'nothing', changedBody: 'accepted' },
    ...(idHeader !== undefined && { idHeader }),
    sign({
      key = 'own',
      id = 'evt_1',
      url = vendorUrl,
      body = jsonBody(id),
    }: SignInput = {}): Signed {
      const basic = encoding === 'basic';
      return {
        signature: basic ? Buffer.from(both[key]).toString('base64') : both[key],
        field: (signature) => (basic ? `Basic ${signature}` : signature),
        build: (...fields) => ({
          ...{ method: 'POST', url, body },
          headers: [
            ...(idHeader === undefined ? [json] : [json, [idHeader, id] as const]),
            ...fields.map((text): HeaderPair => [header, text]),
          ],
        }),
      };
    },
  };
}

export const otherVendors: readonly Vendor[] = [
  ...[twilioHashed, twilioForm, adyen, messagebird],
  tokenVendor({
    ...{ scheme: 'gitlab', header: 'X-Gitlab-Token', encoding: 'token', secrets },
    idHeader: 'Idempotency-Key',
  }),
  tokenVendor({
    ...{ scheme: 'azure-devops', header: 'Authorization', encoding: 'basic' },
    secrets: { own: 'user:first', other: 'user:second' },
  }),
];
