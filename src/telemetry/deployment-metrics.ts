/**
 * The figures of the whole deployment as metric data. They are no instruments of the SDK: it would
 * go on exporting what it was once given, also after another process has begun to report.
 */
import type { Attributes } from '@opentelemetry/api';
import { ValueType } from '@opentelemetry/api';
import type { MetricData, ScopeMetrics } from '@opentelemetry/sdk-metrics';
import { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics';
import type { DeploymentFigures, HeldCount } from '../schemas/deployment-figures';

export function deploymentMetrics(scope: string, figures: DeploymentFigures): ScopeMetrics {
  const { connectors, subscriptions, backlog, sinks, held } = figures;
  const metrics = [
    upDown(
      {
        name: 'connectsoft.factory.integration.connectors',
        description: 'Connector versions by state.',
        unit: '{connector}',
      },
      connectors.map(({ count, ...labels }) => [labels, count]),
    ),
    upDown(
      {
        name: 'connectsoft.factory.integration.subscriptions',
        description: 'Active subscriptions.',
        unit: '{subscription}',
      },
      subscriptions.map(({ count, ...labels }) => [labels, count]),
    ),
    ...heldMetrics(held),
    upDown(
      {
        name: 'waybill.open_attempts',
        description: 'Attempts that are open now, also those whose worker is lost.',
        unit: '{attempt}',
      },
      [[{}, backlog.openAttempts]],
    ),
    gauge(
      {
        name: 'waybill.queue_age',
        description: 'For how long the most overdue live delivery has waited for a loop.',
        unit: 's',
      },
      [[{}, backlog.queueAgeS]],
    ),
    ...sinkMetrics(sinks),
  ];
  return { scope: { name: scope }, metrics: metrics.filter((one) => one.dataPoints.length > 0) };
}

function heldMetrics(held: DeploymentFigures['held']): MetricData[] {
  const heldBy = (what: HeldCount['what']): Values =>
    held
      .filter((one) => one.what === what)
      .map(({ tenant, why, count }) => [{ tenant, why }, count]);
  return [
    upDown(
      {
        name: 'waybill.targets_held',
        description:
          'Targets that get nothing: the breaker is not closed, or a person paused them.',
        unit: '{target}',
      },
      heldBy('target'),
    ),
    upDown(
      {
        name: 'waybill.subscriptions_paused',
        description: 'Subscriptions that collect and send nothing.',
        unit: '{subscription}',
      },
      heldBy('subscription'),
    ),
    upDown(
      {
        name: 'waybill.actions_held',
        description: 'Actions that wait for a person to approve them.',
        unit: '{action}',
      },
      heldBy('action'),
    ),
  ];
}

function sinkMetrics(sinks: DeploymentFigures['sinks']): MetricData[] {
  const of = (figure: 'eventAgeS' | 'failingS' | 'parked'): Values =>
    sinks.map((one) => [{ tenant: one.tenant, sink: one.sink, state: one.state }, one[figure]]);
  return [
    gauge(
      {
        name: 'waybill.sink_event_age',
        description: 'Age of the oldest event that the sink has not taken.',
        unit: 's',
      },
      of('eventAgeS'),
    ),
    gauge(
      {
        name: 'waybill.sink_failing',
        description: 'For how long the sink has taken nothing; 0 when it takes its events.',
        unit: 's',
      },
      of('failingS'),
    ),
    upDown(
      {
        name: 'waybill.sink_parked_subjects',
        description: 'Subjects of which the sink refuses an event.',
        unit: '{subject}',
      },
      of('parked'),
    ),
  ];
}

interface Described {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
}

type Values = readonly (readonly [Attributes, number])[];

function upDown(described: Described, values: Values): MetricData {
  return { ...common(described, values), dataPointType: DataPointType.SUM, isMonotonic: false };
}

function gauge(described: Described, values: Values): MetricData {
  return { ...common(described, values), dataPointType: DataPointType.GAUGE };
}

function common(described: Described, values: Values) {
  return {
    descriptor: { ...described, valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    // The text format carries no instants.
    dataPoints: values.map(([attributes, value]) => ({
      startTime: [0, 0] as [number, number],
      endTime: [0, 0] as [number, number],
      attributes,
      value,
    })),
  };
}
