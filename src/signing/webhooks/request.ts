import type { HeaderPair } from './headers';

/** A webhook request as received, before any parser has seen it. */
export interface WebhookRequest {
  readonly method: string;
  /** The full public URL as configured, plus the query as received; never made from Host. */
  readonly url: string;
  readonly headers: readonly HeaderPair[];
  /** The raw body; signatures are judged over these bytes, never over text. */
  readonly body: Uint8Array;
  /** Non-secret settings of the connection, which `{config:key}` stands for. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
}

/** Path and query of the URL, exactly as written: nothing is decoded or normalised. */
export function pathOf(url: string): string {
  const rest = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}
