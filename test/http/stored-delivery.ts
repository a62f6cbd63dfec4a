/** The fields of a stored delivery that tests judge by. */
export interface StoredDelivery {
  readonly tenant_id: string;
  readonly delivery_id: string;
  readonly state: string;
  readonly subscription_id: string;
  readonly external_id: string | null;
  readonly event_type: string;
  readonly reason: string | null;
  readonly conflict: boolean;
  readonly duplicate_of: string | null;
  readonly content_type: string | null;
  readonly evidence: Record<string, unknown>;
  readonly kept_headers: [string, string][];
  readonly payload: Buffer | null;
}
