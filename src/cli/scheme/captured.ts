/**
 * Captured requests: as they went over the wire (request line, headers, blank line, body), or as JSON
 * in the form of a vector.
 */
import { Vector } from '../../schemas/webhook-vectors';
import type { HeaderPair } from '../../signing/webhooks/headers';
import type { WebhookRequest } from '../../signing/webhooks/request';
import { requestOf } from '../../signing/webhooks/vector-requests';
import { unreadable } from './named';

/** @throws WaybillError `scheme_unreadable` */
export function readCaptured(bytes: Buffer, publicUrl: string): WebhookRequest {
  return /^\s*\{/.test(bytes.toString('latin1')) ? readJson(bytes) : readWire(bytes, publicUrl);
}

function readJson(bytes: Buffer): WebhookRequest {
  try {
    const written: unknown = JSON.parse(bytes.toString('utf8'));
    return requestOf(Vector.parse({ name: 'captured', valid: true, ...Object(written) }));
  } catch (error) {
    throw unreadable(`the request: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function readWire(bytes: Buffer, publicUrl: string): WebhookRequest {
  const text = bytes.toString('latin1');
  const end = /\r?\n\r?\n/.exec(text);
  const head = (end === null ? text : text.slice(0, end.index)).split(/\r?\n/);
  const [, method = '', target = ''] = /^([A-Z]+) (\S+)( HTTP\/\S+)?$/.exec(head[0] ?? '') ?? [];
  if (method === '') throw unreadable('the request does not begin with a line such as POST /path');
  const headers = head.slice(1).map((line): HeaderPair => {
    const colon = line.indexOf(':');
    if (colon < 1) throw unreadable('a header line of the request has no name');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const rest = end === null ? Buffer.alloc(0) : bytes.subarray(end.index + end[0].length);
  const announced = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1];
  const length = announced === undefined ? rest.length : announcedBytes(announced, rest.length);
  const body = rest.subarray(0, length);
  const url = /^https?:/.test(target) ? target : publicUrl.replace(/\/+$/, '') + target;
  return { method, url, headers, body };
}

/** An editor may have added a line end; a body that is shorter than announced was not captured whole. */
function announcedBytes(announced: string, captured: number): number {
  const bytes = /^\d{1,10}$/.test(announced) ? Number(announced) : Infinity;
  if (bytes <= captured) return bytes;
  throw unreadable(
    `the request announces Content-Length ${announced}, but holds ${captured} bytes`,
  );
}
