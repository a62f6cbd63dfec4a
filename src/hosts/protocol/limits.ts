/** Sizes, paths and media types of the host protocol. */
import type { TokenPurpose } from '../../domain/host-protocol';

/** Largest body of an `execute`. */
export const REQUEST_LIMIT_BYTES = 1_048_576;
/** Largest answer that is read: a result of 1 MiB, in base64url, and its frame. */
export const ANSWER_LIMIT_BYTES = 1_572_864;
/** Largest result, as JSON. */
export const RESULT_LIMIT_BYTES = 1_048_576;
export const TOKEN_LIMIT_BYTES = 12_288;
export const MANIFEST_LIMIT_BYTES = 4_194_304;
export const LIFECYCLE_LIMIT_BYTES = 16_384;

/** An answer, and a lifecycle call, is one compact JWS and nothing else. */
export const JOSE_TYPE = 'application/jose';

/** The request of a call about one action: its method, and where it goes below the host's endpoint. */
export function actionRequest(
  purpose: TokenPurpose,
  actionId: string,
): { readonly method: 'GET' | 'PUT' | 'POST'; readonly path: string } {
  const path = `/v1/actions/${encodeURIComponent(actionId)}`;
  switch (purpose) {
    case 'execute':
      return { method: 'PUT', path };
    case 'read':
      return { method: 'GET', path };
    case 'reconcile':
    case 'cancel':
      return { method: 'POST', path: `${path}/${purpose}` };
  }
}
