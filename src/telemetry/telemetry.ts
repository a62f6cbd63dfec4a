/**
 * The metrics of a process, kept by OpenTelemetry's SDK and served as Prometheus text by whatever
 * server the process has. Nothing is pushed and nothing listens here, so there is nothing to stop.
 */
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import type { DeploymentFigures } from '../schemas/deployment-figures';
import type { DeliveryMetrics } from '../services/delivery-metrics';
import { deploymentMetrics } from './deployment-metrics';
import { boundedLabelSets } from './label-sets';
import { tally } from './tally';

/** The most combinations of tenant and connector that one process tells apart. */
export const MAX_LABEL_SETS = 1_000;

/** Above what the bound on labels allows: it alone decides, and a state is never split from its tenant. */
const SDK_LIMIT = 32 * MAX_LABEL_SETS;

const SCOPE = 'waybill';

/**
 * Seconds: from a healthy dispatch (milliseconds) to one that waited for an outage to end. Two seconds
 * are what is aimed at for 95 of 100.
 */
const LATENCY_BOUNDARIES_S = [
  ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5],
  ...[10, 30, 60, 300, 900, 3_600],
];

export interface TelemetryOptions {
  /** Name of the process, such as `waybill-api`. */
  readonly service: string;
}

export interface Telemetry {
  readonly deliveries: DeliveryMetrics;
  /** Counts a request to an ingress by what became of it. */
  ingressRequest(
    outcome: string,
    about: { readonly tenantId: string; readonly connectorId: string },
  ): void;
  /**
   * Exports these figures of the whole deployment until `performance.now()` has reached `untilMs`,
   * or none at all (null: another process reports them).
   */
  reportDeployment(figures: DeploymentFigures | null, untilMs: number): void;
  /** Everything as Prometheus text (format 0.0.4). */
  readonly text: () => Promise<string>;
}

/** Makes the metrics of one process (docs/architecture, "Metrics"). */
export function createTelemetry({ service }: TelemetryOptions): Telemetry {
  const reader = new ScrapedReader({ cardinalitySelector: () => SDK_LIMIT });
  const resource = resourceFromAttributes({ 'service.name': service });
  const instruments = createInstruments(new MeterProvider({ resource, readers: [reader] }));
  const serializer = new PrometheusSerializer('', false, undefined, false, true);
  let reported: { readonly figures: DeploymentFigures; readonly untilMs: number } | null = null;
  return {
    ...instruments,
    reportDeployment: (figures, untilMs) => {
      reported = figures === null ? null : { figures, untilMs };
    },
    text: async () => {
      const { resourceMetrics } = await reader.collect();
      const scopeMetrics = [...resourceMetrics.scopeMetrics];
      if (reported !== null && performance.now() < reported.untilMs) {
        scopeMetrics.push(deploymentMetrics(SCOPE, reported.figures));
      }
      return serializer.serialize({ resource, scopeMetrics });
    },
  };
}

function createInstruments(
  provider: MeterProvider,
): Pick<Telemetry, 'deliveries' | 'ingressRequest'> {
  const meter = provider.getMeter(SCOPE);
  const deliveries = tally(meter, 'connectsoft.factory.integration.deliveries', {
    description: 'Deliveries that came into a state.',
    unit: '{delivery}',
  });
  const latency = meter.createHistogram('connectsoft.factory.integration.delivery_latency', {
    description: 'From the receipt of a delivery to the first call of its target.',
    unit: 's',
    advice: { explicitBucketBoundaries: LATENCY_BOUNDARIES_S },
  });
  const requests = tally(meter, 'waybill.ingress_requests', {
    description: 'Requests to ingresses by outcome.',
    unit: '{request}',
  });
  const byTenant = boundedLabelSets<{ tenant: string; connector: string }>(MAX_LABEL_SETS);
  const byConnector = boundedLabelSets<{ connector: string }>(MAX_LABEL_SETS);
  return {
    deliveries: {
      reached: (state, { tenantId, connectorId, direction, lane }) => {
        const { tenant, connector } = byTenant({ tenant: tenantId, connector: connectorId });
        deliveries({ tenant, connector, direction, lane, state });
      },
      dispatchedAfter: (seconds, { connectorId, direction, lane }) => {
        const { connector } = byConnector({ connector: connectorId });
        latency.record(seconds, { connector, direction, lane });
      },
    },
    ingressRequest: (outcome, { tenantId, connectorId }) => {
      const { tenant, connector } = byTenant({ tenant: tenantId, connector: connectorId });
      requests({ tenant, connector, outcome });
    },
  };
}

/** Collects when it is asked, and has nothing to flush or to stop. */
class ScrapedReader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }

  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}
