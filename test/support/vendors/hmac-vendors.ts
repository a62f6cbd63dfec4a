/** Vendors with a keyed hash. */
import { createHash } from 'node:crypto';
import {
  hmac,
  iso,
  messageVendor,
  milliseconds,
  seconds,
  sharedSecrets as secrets,
  type MessageVendor,
  type Vendor,
} from './vendor';

type Input = Pick<MessageVendor, 'scheme' | 'header'> & Partial<MessageVendor> & { hash?: string };

function shared(input: Input): Vendor {
  const { hash = 'sha256', encoding = 'hex', ...rest } = input;
  return messageVendor({ encoding, secrets, mac: hmac(hash, secrets), ...rest });
}

const prefixed = (prefix: string) => (signature: string) => `${prefix}${signature}`;
const inHeader = (header: string, toleranceS: number, text = seconds) =>
  ({ place: 'header', header, toleranceS, text }) as const;
const inPairs = (toleranceS: number) => ({ place: 'pairs', toleranceS, text: seconds }) as const;

const whsecKey = (secret: string) => Buffer.from(secret.slice('whsec_'.length), 'base64');
const standard = (scheme: string, prefix: string, more: Partial<MessageVendor> = {}): Vendor =>
  shared({
    scheme,
    header: `${prefix}-signature`,
    encoding: 'base64',
    field: prefixed('v1,'),
    message: ({ id, timestamp, body }) => [`${id}.${timestamp}.`, body],
    mac: hmac('sha256', secrets, whsecKey),
    time: inHeader(`${prefix}-timestamp`, 300),
    idHeader: `${prefix}-id`,
    ...more,
  });

const hexSecrets = { own: '44'.repeat(32), other: 'A5'.repeat(32) };

const generic = (scheme: string, hash: string, pairs: boolean): Vendor =>
  shared({
    ...{ scheme, hash, header: 'X-Signature' },
    ...(pairs && { field: prefixed(`${hash}=`) }),
  });

const digested = (scheme: string, message: NonNullable<MessageVendor['message']>): Vendor =>
  shared({
    ...{ scheme, message, header: 'X-HubSpot-Signature', body: hubspotBody },
    mac: (_key, pieces) => {
      const hash = createHash('sha256');
      for (const piece of pieces) hash.update(piece);
      return hash.digest();
    },
  });

const hubspotBody = (id: string): Buffer =>
  Buffer.from(`[{"eventId": "${id}", "subscriptionId": 7, "subscriptionType": "a.b"}]\n`);
const named = (text: (id: string) => string) => (id: string) => Buffer.from(text(id));

export const hmacVendors: readonly Vendor[] = [
  shared({
    scheme: 'github',
    header: 'X-Hub-Signature-256',
    field: prefixed('sha256='),
    idHeader: 'X-GitHub-Delivery',
  }),
  shared({
    scheme: 'stripe',
    header: 'Stripe-Signature',
    message: ({ timestamp, body }) => [`${timestamp}.`, body],
    field: (signature, timestamp) => `t=${timestamp},v1=${signature}`,
    time: inPairs(300),
  }),
  shared({
    scheme: 'slack',
    header: 'X-Slack-Signature',
    message: ({ timestamp, body }) => [`v0:${timestamp}:`, body],
    field: prefixed('v0='),
    time: inHeader('X-Slack-Request-Timestamp', 300),
    body: named((id) => `{"event_id": "${id}", "type": "event_callback", "n": 1.0}`),
  }),
  standard('standard-webhooks', 'webhook'),
  standard('standard-webhooks-svix', 'svix'),
  standard('gitlab-signing-token', 'webhook'),
  shared({ scheme: 'adyen-banking', header: 'HmacSignature', ...banking() }),
  shared({
    scheme: 'pagerduty',
    header: 'X-PagerDuty-Signature',
    field: prefixed('v1='),
    body: named((id) => `{"event": {"id": "${id}", "event_type": "a.b"}}`),
  }),
  shared({
    scheme: 'square',
    header: 'x-square-hmacsha256-signature',
    encoding: 'base64',
    message: ({ url, body }) => [url, body],
    body: named((id) => `{"event_id": "${id}", "type": "a.b"}`),
  }),
  shared({
    scheme: 'paddle',
    header: 'Paddle-Signature',
    message: ({ timestamp, body }) => [`${timestamp}:`, body],
    field: (signature, timestamp) => `ts=${timestamp};h1=${signature}`,
    time: inPairs(5),
    body: named((id) => `{"event_id": "${id}", "event_type": "a.b"}`),
  }),
  shared({
    scheme: 'shopify',
    header: 'X-Shopify-Hmac-Sha256',
    encoding: 'base64',
    idHeader: 'X-Shopify-Webhook-Id',
  }),
  digested('hubspot-v1', ({ secret, body }) => [secret, body]),
  digested('hubspot-v2', ({ secret, url, body }) => [`${secret}POST${url}`, body]),
  shared({
    scheme: 'hubspot',
    header: 'X-HubSpot-Signature-v3',
    encoding: 'base64',
    message: ({ url, body, timestamp }) => [`POST${url}`, body, timestamp],
    time: inHeader('X-HubSpot-Request-Timestamp', 300, milliseconds),
    body: hubspotBody,
  }),
  ...['PRIMARY', 'SECONDARY'].map((which) =>
    shared({
      scheme: which === 'PRIMARY' ? 'box' : 'box-secondary',
      header: `BOX-SIGNATURE-${which}`,
      encoding: 'base64',
      message: ({ body, timestamp }) => [body, timestamp],
      time: inHeader('BOX-DELIVERY-TIMESTAMP', 600, iso),
      idHeader: 'BOX-DELIVERY-ID',
    }),
  ),
  shared({
    scheme: 'zoom',
    header: 'x-zm-signature',
    message: ({ timestamp, body }) => [`v0:${timestamp}:`, body],
    field: prefixed('v0='),
    time: inHeader('x-zm-request-timestamp', 300, milliseconds),
    body: named((id) => `{"event": "a.b", "payload": {"object": {"uuid": "${id}"}}}`),
  }),
  shared({
    ...{ scheme: 'bitbucket-cloud', header: 'X-Hub-Signature', field: prefixed('sha256=') },
    idHeader: 'X-Request-UUID',
  }),
  shared({
    ...{ scheme: 'jira', header: 'X-Hub-Signature', field: prefixed('sha256=') },
    idHeader: 'X-Atlassian-Webhook-Identifier',
  }),
  shared({
    ...{ scheme: 'intercom', header: 'X-Hub-Signature', hash: 'sha1', field: prefixed('sha1=') },
  }),
  generic('generic-hmac', 'sha256', false),
  generic('generic-hmac-sha256-pairs', 'sha256', true),
  generic('generic-hmac-sha1-raw', 'sha1', false),
  generic('generic-hmac-sha1-pairs', 'sha1', true),
  generic('generic-hmac-sha512-raw', 'sha512', false),
  generic('generic-hmac-sha512-pairs', 'sha512', true),
  shared({
    scheme: 'linear',
    header: 'Linear-Signature',
    time: { place: 'body', toleranceS: 60, text: milliseconds },
    idHeader: 'Linear-Delivery',
    body: (id, timestamp) =>
      Buffer.from(`{"id": "${id}", "webhookTimestamp": ${timestamp === '' ? 'null' : timestamp}}`),
  }),
  shared({
    scheme: 'zendesk',
    header: 'X-Zendesk-Webhook-Signature',
    encoding: 'base64',
    message: ({ timestamp, body }) => [timestamp, body],
    time: inHeader('X-Zendesk-Webhook-Signature-Timestamp', 300, iso),
    idHeader: 'X-Zendesk-Webhook-Invocation-Id',
  }),
  shared({
    scheme: 'trello',
    header: 'X-Trello-Webhook',
    hash: 'sha1',
    encoding: 'base64',
    message: ({ body, url }) => [body, url],
    body: named((id) => `{"action": {"id": "${id}", "type": "a"}}`),
  }),
];

function banking(): Partial<MessageVendor> {
  const mac = hmac('sha256', hexSecrets, (secret) => Buffer.from(secret, 'hex'));
  return { secrets: hexSecrets, mac, encoding: 'base64' };
}
