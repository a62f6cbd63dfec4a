/** What is said of a received request: to the counter, to the log, and to its sender. */
import type { IncomingMessage } from 'node:http';
import { WaybillError } from '../domain/errors';
import type { Lane } from '../domain/lanes';
import type { Unverified } from '../domain/verification';
import type { IngressConfig } from '../schemas/delivery-rows';
import type { CompiledScheme } from '../signing/webhooks/compile';
import type { BodyBudget } from './body-budget';
import type { BoundedLines } from './bounded-lines';
import type { HttpDeps, IngressOutcome } from './deps';
import type { IngestGroups } from './ingest-groups';
import type { IngressSecrets } from './ingress-secrets';
import type { OpenIngresses } from './open-ingresses';
import { HttpProblem } from './problems';
import type { RefusalLimit } from './refusals';

export interface ArrivingRequest {
  /** The ingress reference of its path. */
  readonly ref: string;
  /** The remote address. */
  readonly ip: string;
  /** Head read, body not yet. */
  readonly raw: IncomingMessage;
}

/** What one server receives with. */
export interface Reception {
  readonly deps: HttpDeps;
  readonly lines: BoundedLines;
  readonly limit: RefusalLimit;
  readonly ingresses: OpenIngresses;
  readonly budget: BodyBudget;
  readonly groups: IngestGroups;
}

/** One request on its way through an ingress. */
export interface Receiving {
  readonly deps: HttpDeps;
  readonly lines: BoundedLines;
  readonly limit: RefusalLimit;
  readonly ref: string;
  /** The remote address. */
  readonly ip: string;
  readonly ingress: IngressConfig;
  readonly scheme: CompiledScheme;
}

export function note(
  receiving: Pick<Receiving, 'deps' | 'lines' | 'ingress'>,
  outcome: IngressOutcome,
  more: Readonly<Record<string, string>>,
  lane: Lane = 'durable',
): void {
  const { deps, ingress } = receiving;
  const { tenantId, connectorId, subscriptionId } = ingress;
  deps.count(outcome, { tenantId, connectorId, lane });
  // A flood must not fill the log, too.
  const level = outcome === 'limited' ? 'debug' : 'info';
  const line = () => {
    const about = { tenantId, connectorId, subscriptionId, outcome };
    deps.log[level](Object.assign(about, more), 'webhook received');
  };
  // Whoever can ask for an answer need not have signed anything.
  if (outcome === 'handshake') unsignedLine(receiving, line);
  else line();
}

/** A line that a request without any signature can cause: bounded at each ingress. */
export function unsignedLine(
  { deps, lines, ingress }: Pick<Receiving, 'deps' | 'lines' | 'ingress'>,
  line: () => void,
): void {
  const { tenantId, subscriptionId } = ingress;
  lines.write(`${tenantId}/${subscriptionId}`, line, (leftOut) => {
    deps.log.warn({ tenantId, subscriptionId, leftOut }, 'lines on unsigned requests left out');
  });
}

/** The answer to a sender that has had too many requests refused: nothing is recorded of this one. */
export function limited(
  receiving: Receiving,
  waitS: number,
  more: Readonly<Record<string, string>> = {},
): HttpProblem {
  note(receiving, 'limited', more);
  return new HttpProblem('rejections_limited', '', { headers: { 'retry-after': String(waitS) } });
}

/** Tells the log which secrets were read and did not serve, and which could not be read. */
export function secretUnavailable(
  receiving: Receiving,
  { reason }: Unverified,
  { usable, unreadable }: IngressSecrets,
): WaybillError {
  const { deps, ingress } = receiving;
  const { tenantId, subscriptionId } = ingress;
  const secretIds = usable.map(({ id }) => id);
  const about = { tenantId, subscriptionId, reason, secretIds, unreadable };
  unsignedLine(receiving, () => {
    deps.log.error(about, 'no secret to verify with');
  });
  return new WaybillError('secret_unavailable');
}

export function skewText(skewMs: number): string {
  return `It was signed ${Math.abs(skewMs)} ms ${skewMs < 0 ? 'after' : 'before'} receipt.`;
}
