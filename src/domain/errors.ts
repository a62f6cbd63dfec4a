/**
 * The error catalogue: every failure that a user can cause or must react to, one line each.
 * `docs/errors.md` documents each code; a house test keeps the two the same.
 */

interface CatalogueEntry {
  /** HTTP status of the answer that carries this code. */
  readonly status: number;
  /** True when the same request may succeed later without a change. */
  readonly retryable: boolean;
  /** One sentence: what is wrong and what to do. */
  readonly message: string;
}

export const errorCatalogue = {
  // Receiving
  unknown_ingress: entry(404, false, 'No subscription listens at this address.'),
  ingress_gone: entry(410, false, 'The subscription behind this address was deactivated.'),
  body_too_large: entry(413, false, 'The body is larger than this ingress accepts.'),
  body_incomplete: entry(400, false, 'The body ended before its announced length.'),
  signature_refused: entry(401, false, 'The signature does not match any valid secret.'),
  signature_stale: entry(401, false, 'The signed timestamp is outside the tolerance.'),
  handshake_refused: entry(403, false, 'What this request must show to be answered is not there.'),
  rejections_limited: entry(429, true, 'Too many requests with a bad signature from this address.'),
  overloaded: entry(503, true, 'Too many bodies are under way at once; nothing was stored.'),
  storage_unavailable: entry(503, true, 'Postgres does not answer; nothing was stored.'),
  secret_unavailable: entry(503, true, 'A secret reference cannot be resolved.'),

  // API
  unauthenticated: entry(401, false, 'A valid bearer token is required.'),
  token_keys_unavailable: entry(
    503,
    true,
    'The keys that tokens are verified with cannot be fetched.',
  ),
  scope_missing: entry(403, false, 'The token lacks the scope that this call needs.'),
  capability_not_permitted: entry(
    403,
    false,
    'The token does not allow that capability, or an effect of that class.',
  ),
  invalid_request: entry(400, false, 'A field of the request is missing or wrong.'),
  invalid_cursor: entry(400, false, 'The cursor is not one of this list; start at the first page.'),
  stale_cursor: entry(
    409,
    false,
    'The catalog has changed since the page before; start at the first page.',
  ),
  events_forgotten: entry(
    410,
    false,
    'Events behind this place were removed for their age; begin without it.',
  ),
  not_found: entry(404, false, 'There is nothing of that name or id here.'),
  method_not_allowed: entry(405, false, 'This path does not answer that method.'),
  subscription_deactivated: entry(
    409,
    false,
    'A deactivated subscription takes nothing; publish it as active first.',
  ),
  subscription_exists: entry(
    409,
    false,
    'A subscription of that id is there and is another one; change it, or take another id.',
  ),
  subscription_invalid: entry(
    422,
    false,
    'The catalog does not allow such a subscription; nothing was changed.',
  ),
  connection_state_refused: entry(
    409,
    false,
    'The connection cannot become what is reported; nothing was changed.',
  ),
  delivery_not_failed: entry(409, false, 'Only a failed delivery can be replayed.'),
  delivery_not_rejected: entry(409, false, 'Only a rejected delivery can be readmitted.'),
  rejected_bytes_gone: entry(
    410,
    false,
    'The bytes of the rejected delivery are no longer kept, or what it was signed by never was.',
  ),
  readmission_refused: entry(
    422,
    false,
    'The rejected delivery is not verified as of its receipt by the secrets that are there now.',
  ),
  replay_refused: entry(409, false, 'The bulk replay is in a state that does not allow that.'),
  too_many_replays: entry(409, false, 'Too many bulk replays of the tenant are not over.'),
  capability_unavailable: entry(
    404,
    false,
    'The tenant has no binding of that capability that can be used: none, or its instance, ' +
      'connector version or credential is off. See the fleet file.',
  ),
  approval_required: entry(403, false, 'It needs an approval; send one with the call.'),
  approval_refused: entry(
    403,
    false,
    'The approval that was sent is none of this request: its signature, signer, time or subject.',
  ),
  approver_is_requester: entry(
    403,
    false,
    'Whoever has asked for it may not approve it; somebody else has to.',
  ),
  approval_not_waiting: entry(409, false, 'Nothing of the action waits for an approval.'),
  resolution_refused: entry(409, false, 'Only an action that needs an operator can be resolved.'),
  connection_unavailable: entry(
    404,
    false,
    'The tenant has no connection of that connector that can be sent through: none, without the ' +
      'grant `tool`, or it or its connector version is off.',
  ),
  operation_unknown: entry(404, false, 'The connector version declares no such operation.'),
  delivery_conflict: entry(
    409,
    false,
    'The idempotency key belongs to another operation or payload of this connection.',
  ),
  delivery_request_invalid: entry(422, false, 'The operation cannot be made of this payload.'),
  policy_decision_required: entry(
    403,
    false,
    'An operation of the class external is sent only with a policy decision that allows it.',
  ),
  delivery_uncertain: entry(
    409,
    false,
    'The delivery may have had its effect; it is replayed only where that is confirmed.',
  ),
  action_request_invalid: entry(422, false, 'The request is not one that the capability accepts.'),
  repin_refused: entry(409, false, 'The action cannot be moved to another host now.'),
  action_conflict: entry(409, false, 'The action id belongs to another capability or request.'),
  stale_plan: entry(
    409,
    false,
    'The catalog has changed since the plan was verified; nothing was started.',
  ),
  rate_limited: entry(429, true, 'Too many calls in a minute; `Retry-After` says when to go on.'),
  idempotency_in_flight: entry(
    409,
    true,
    'A request with this Idempotency-Key is under way; ask again for its answer.',
  ),
  idempotency_key_reused: entry(
    422,
    false,
    'This Idempotency-Key belongs to another request; take a new one for a new request.',
  ),
  not_ready: entry(503, true, 'The process cannot do its work now; `checks` says why.'),
  internal: entry(500, true, 'Something went wrong inside Waybill; see its log.'),

  // Hosts
  host_call_refused: entry(401, false, "A host's call is not one of the replica that it names."),
  manifest_mismatch: entry(422, false, 'The host serves another manifest than its version has.'),
  host_turned_away: entry(409, false, 'Waybill does not let this host speak for its replica.'),
  store_in_use: entry(500, false, 'Another process has the store of this host open.'),

  // Catalog
  fleet_invalid: entry(422, false, 'The fleet file has a mistake; nothing was applied.'),
  scheme_unreadable: entry(400, false, 'A scheme, a request or vectors cannot be read.'),
  fleet_unreadable: entry(400, false, 'The fleet file cannot be read.'),
  version_immutable: entry(409, false, 'A connector version never changes; publish a new one.'),
  capability_immutable: entry(
    409,
    false,
    'A capability has one contract for ever; publish another one under another id.',
  ),
  replica_immutable: entry(
    409,
    false,
    'A replica keeps all but its capacity; provision another one under another id.',
  ),
  version_revoked: entry(409, false, 'A revoked version stays revoked; publish a new one.'),
  revision_not_newer: entry(
    409,
    false,
    'A binding changes only with a higher policyRevision, an instance with a higher configRevision.',
  ),
  evidence_immutable: entry(
    409,
    false,
    'A statement of evidence never changes; publish another one under another id.',
  ),
  evidence_refused: entry(
    422,
    false,
    'A statement of evidence cannot count: its signature, its signer, its time or what it binds.',
  ),
  evidence_missing: entry(
    409,
    false,
    'A version becomes active only with the evidence that this deployment requires.',
  ),
  certification_refused: entry(409, false, 'The connector version cannot be certified that way.'),
  publication_busy: entry(503, true, 'Another publication is under way; try again.'),

  // Starting
  config_invalid: entry(500, false, 'A setting of the process is missing or wrong.'),
  schema_unsupported: entry(500, false, 'The database schema is outside the supported range.'),
  migration_failed: entry(500, false, 'A migration could not be applied; nothing was changed.'),
  role_too_powerful: entry(500, false, 'The database role of this process bypasses row security.'),
  role_wrong: entry(500, false, 'The database role of this process is not the one it needs.'),
  dev_key_outside_loopback: entry(
    500,
    false,
    'The development key is refused when the API listens outside loopback; configure a JWKS.',
  ),
  temporal_unreachable: entry(503, true, 'The Temporal server does not answer.'),
  temporal_cli_unavailable: entry(500, false, 'No Temporal server executable could be had.'),
  server_start_failed: entry(500, false, 'A server that Waybill starts itself did not come up.'),
  process_lost: entry(500, true, 'A process under `waybill up` ended by itself; see its log.'),
  port_in_use: entry(500, false, 'A port that Waybill needs is taken.'),
  instance_running: entry(500, false, 'Another Waybill runs in this folder.'),

  // Evidence and tools
  receipt_invalid: entry(422, false, 'The receipt chain does not verify.'),
  api_unreachable: entry(503, true, 'The Waybill API does not answer.'),
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof errorCatalogue;

/**
 * A failure with a code of the catalogue. `detail` says what exactly, `field` names the input that
 * is wrong. Neither ever holds a secret or a payload.
 */
export class WaybillError extends Error {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly field: string | undefined;

  constructor(
    code: ErrorCode,
    detail = '',
    options: { readonly field?: string; readonly cause?: unknown } = {},
  ) {
    super(detail === '' ? errorCatalogue[code].message : detail, { cause: options.cause });
    this.name = 'WaybillError';
    this.code = code;
    this.detail = detail;
    this.field = options.field;
  }

  get status(): number {
    return errorCatalogue[this.code].status;
  }

  get retryable(): boolean {
    return errorCatalogue[this.code].retryable;
  }
}

function entry(status: number, retryable: boolean, message: string): CatalogueEntry {
  return { status, retryable, message };
}
