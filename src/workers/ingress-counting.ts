/** What a request to an ingress counts as. */
import type { DeliveryState } from '../domain/delivery-states';
import type { HttpDeps, IngressOutcome } from '../http/deps';
import type { Telemetry } from '../telemetry/telemetry';

/** The state in which a delivery was born; null: none was. */
const BORN: Readonly<Record<IngressOutcome, DeliveryState | null>> = {
  accepted: 'Received',
  duplicate: 'Deduplicated',
  conflict: 'Deduplicated',
  refused: 'Rejected',
  stale: 'Rejected',
  ignored: null,
  limited: null,
  handshake: null,
};

/** The ingress's counter: each request, and the delivery that came of it. */
export function ingressCounting(telemetry: Telemetry): HttpDeps['count'] {
  return (outcome, about) => {
    telemetry.ingressRequest(outcome, about);
    const state = BORN[outcome];
    if (state === null) return;
    const { tenantId, connectorId, lane } = about;
    telemetry.deliveries.reached(state, { tenantId, connectorId, lane, direction: 'inbound' });
  };
}
