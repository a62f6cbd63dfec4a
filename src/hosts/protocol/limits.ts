/** Sizes, paths and media types of the host protocol. */

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

/** Where the calls about one action go, below the host's endpoint. */
export function actionPath(actionId: string): string {
  return `/v1/actions/${encodeURIComponent(actionId)}`;
}
