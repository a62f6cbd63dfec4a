/** What `waybill conformance` is told. */
export interface ConformanceOptions {
  readonly endpoint: string;
  readonly tenant: string;
  readonly instance: string;
  readonly credential: string;
  readonly listen: string;
  readonly audience: string;
  readonly did?: string;
  readonly cases?: string;
  readonly scheme?: string;
  readonly vectors?: string;
  readonly hostPid?: string;
  readonly wait: string;
  readonly json?: true;
}
