import type { Vector } from '../../schemas/webhook-vectors';
import type { HeaderPair } from './headers';
import type { WebhookRequest } from './request';

/** The request of a vector, as an ingress would have received it. */
export function requestOf(vector: Vector): WebhookRequest {
  const headers = Object.entries(vector.headers).flatMap(([name, values]) =>
    [values].flat().map((value): HeaderPair => [name, value]),
  );
  const form = formOf(vector);
  const named = headers.some(([name]) => name.toLowerCase() === 'content-type');
  if (form !== null && !named) headers.push(['content-type', 'application/x-www-form-urlencoded']);
  return {
    method: vector.method,
    url: urlOf(vector),
    headers,
    body: bodyOf(vector, form),
    settings: vector.config,
  };
}

function formOf({ params, body, body_base64 }: Vector): string | null {
  if (params === undefined || body !== undefined || body_base64 !== undefined) return null;
  const pairs = Object.entries(params).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  );
  return new URLSearchParams(pairs).toString();
}

function bodyOf({ body, body_base64 }: Vector, form: string | null): Uint8Array {
  if (body_base64 !== undefined) return Buffer.from(body_base64, 'base64');
  return Buffer.from(body ?? form ?? '', 'utf8');
}

function urlOf({ url, url_as_received }: Vector): string {
  if (url_as_received === undefined) return url;
  const [base = ''] = url.split('?');
  const at = url_as_received.indexOf('?');
  return at < 0 ? base : base + url_as_received.slice(at);
}
