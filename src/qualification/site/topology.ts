/** The deployment that is qualified: who is in it, for whom, and under which identity. */
import { LANES } from '../../domain/lanes';

export const TENANTS = ['acme', 'globex'] as const;
export type Tenant = (typeof TENANTS)[number];

/** Three instances over two connectors, and their accounts at the provider, which have the same names. */
export const INSTANCES = [
  { instance: 'acme-tickets', tenant: 'acme', connector: 'tickets' },
  { instance: 'acme-reports', tenant: 'acme', connector: 'reports' },
  { instance: 'globex-tickets', tenant: 'globex', connector: 'tickets' },
] as const;
export type InstanceName = (typeof INSTANCES)[number]['instance'];

/** What is bound of each connector. */
export const CAPABILITIES = {
  tickets: ['tickets.create', 'tickets.create_keyed', 'tickets.publish', 'tickets.read'],
  reports: ['reports.build'],
} as const;
export type ConnectorName = keyof typeof CAPABILITIES;

export const VERSION = '1.0.0';
export const CREDENTIAL = 'r1';

export interface HostMember {
  readonly name: HostName;
  readonly replica: string;
  readonly instance: InstanceName;
  readonly tenant: Tenant;
  readonly connector: ConnectorName;
}

/** Four replicas: one instance has two of them. */
const REPLICAS = [
  { replica: 'acme-tickets-1', instance: 'acme-tickets' },
  { replica: 'acme-tickets-2', instance: 'acme-tickets' },
  { replica: 'acme-reports-1', instance: 'acme-reports' },
  { replica: 'globex-tickets-1', instance: 'globex-tickets' },
] as const;
export type HostName = `host-${(typeof REPLICAS)[number]['replica']}`;

export const HOSTS: readonly HostMember[] = REPLICAS.flatMap(({ replica, instance }) =>
  INSTANCES.filter((one) => one.instance === instance).map(({ tenant, connector }) => ({
    ...{ name: `host-${replica}` as const, replica, instance, tenant, connector },
  })),
);

export const GATEWAYS = ['gateway-1', 'gateway-2'] as const;
export type GatewayName = (typeof GATEWAYS)[number];
export const WORKERS = ['worker-1', 'worker-2'] as const;

/** What the vendor of webhooks posts to: a subscription in each lane, and one whose lane a soak changes. */
export const SOURCES = [...LANES, 'switched'] as const;
export type Source = (typeof SOURCES)[number];

/** Where it posts, for the tenant `acme`. */
export const INGRESSES: Readonly<Record<Source, string>> = {
  durable: 'qualification-pushes',
  express: 'qualification-express-pushes',
  switched: 'qualification-switched-pushes',
};

export function subscriptionOf(source: Source): string {
  return `${source}-pushes`;
}

export type WaybillName =
  GatewayName | (typeof WORKERS)[number] | 'lifecycle' | 'provider' | 'target' | 'edge' | HostName;
export type ProcessName = WaybillName | 'postgres' | 'temporal';

/** Logins of the database of Waybill, one a process and pool, each in exactly one role. */
export const LOGINS = {
  control: 'waybill_control',
  'gateway-1': 'waybill_data',
  'gateway-2': 'waybill_data',
  'worker-1': 'waybill_data',
  'worker-2': 'waybill_data',
  'worker-1-operations': 'waybill_operations',
  'worker-2-operations': 'waybill_operations',
  lifecycle: 'waybill_lifecycle',
} as const;
export type LoginName = keyof typeof LOGINS;

/** Every process of Waybill that answers to `/ready`. */
export const SERVING: readonly WaybillName[] = [
  ...GATEWAYS,
  ...WORKERS,
  'lifecycle',
  ...HOSTS.map(({ name }) => name),
];
