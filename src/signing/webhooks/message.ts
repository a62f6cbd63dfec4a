/** Builds the bytes that the vendor signed. */
import type { Unverified } from '../../domain/verification';
import type { CompiledPart, CompiledScheme } from './compile';
import { readHeader, wireBytes } from './headers';
import { refuse } from './refusals';
import { pathOf, type WebhookRequest } from './request';

export interface MessageBytes {
  readonly ok: true;
  /** In order; kept apart so that the body is not copied. */
  readonly parts: readonly Uint8Array[];
}

/** @param timestamp the timestamp's text exactly as received; empty where the scheme has none */
export function messageBytes(
  compiled: CompiledScheme,
  request: WebhookRequest,
  timestamp: string,
): MessageBytes | Unverified {
  const parts: Uint8Array[] = [];
  for (const part of compiled.message) {
    const bytes = partBytes(part, compiled, request, timestamp);
    if ('ok' in bytes) return bytes;
    parts.push(bytes);
  }
  return { ok: true, parts };
}

function partBytes(
  part: CompiledPart,
  { scheme }: CompiledScheme,
  request: WebhookRequest,
  timestamp: string,
): Uint8Array | Unverified {
  switch (part.token) {
    case 'text':
      return part.bytes;
    case 'body':
      return request.body;
    case 'timestamp':
      return wireBytes(timestamp);
    case 'method':
      return wireBytes(request.method.toUpperCase());
    case 'url':
      return wireBytes(request.url);
    case 'path':
      return wireBytes(pathOf(request.url));
    case 'id':
      return headerBytes(request, scheme.id_header ?? '', 'id');
    case 'header':
      return headerBytes(request, part.name, 'header');
  }
}

function headerBytes(
  request: WebhookRequest,
  name: string,
  kind: 'id' | 'header',
): Uint8Array | Unverified {
  const read = readHeader(request.headers, name.toLowerCase());
  if (read.found === 'several') return refuse(`repeated_${kind}`, `${name} has several values`);
  if (read.found === 'none' || read.text === '') {
    return refuse(`missing_${kind}`, `header ${name} is missing or empty`);
  }
  return wireBytes(read.text);
}
