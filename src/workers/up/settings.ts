/** What `waybill up` reads from its environment: what it must start itself, and on which ports. */
import path from 'node:path';
import { z } from 'zod';
import { WaybillError } from '../../domain/errors';
import { parseConfig } from '../../schemas/config';
import { freePort, type PortWish } from '../embedded/ports';

/** The variables that change the ports, with their defaults; 0 takes any free one. */
export const PORT_SETTINGS = {
  api: { variable: 'WAYBILL_PORT', port: 7380, wantedBy: 'the API' },
  health: { variable: 'WAYBILL_HEALTH_PORT', port: 7381, wantedBy: "the worker's health" },
  grpc: { variable: 'WAYBILL_GRPC_PORT', port: 7383, wantedBy: "the API's gRPC" },
  receiver: { variable: 'WAYBILL_RECEIVER_PORT', port: 7300, wantedBy: 'the demo receiver' },
  provider: { variable: 'WAYBILL_PROVIDER_PORT', port: 7301, wantedBy: 'the demo provider' },
  firstHost: { variable: 'WAYBILL_FIRST_HOST_PORT', port: 7391, wantedBy: 'the first demo host' },
  secondHost: {
    variable: 'WAYBILL_SECOND_HOST_PORT',
    port: 7392,
    wantedBy: 'the second demo host',
  },
  postgres: { variable: 'WAYBILL_POSTGRES_PORT', port: 7332, wantedBy: 'Postgres' },
  temporal: { variable: 'WAYBILL_TEMPORAL_PORT', port: 7333, wantedBy: 'the Temporal server' },
  temporalUi: { variable: 'WAYBILL_TEMPORAL_UI_PORT', port: 7334, wantedBy: 'the Temporal UI' },
} as const;

export type PortName = keyof typeof PORT_SETTINGS;
/** Those of Waybill's own processes, which speak HTTP. */
export type LocalPort = 'api' | 'health' | 'receiver' | 'provider' | 'firstHost' | 'secondHost';

export interface UpSettings {
  /** Absolute. */
  readonly home: string;
  readonly ports: Readonly<Record<PortName, number>>;
  /** A Postgres that runs already; null: start one. */
  readonly databaseUrl: string | null;
  /** A Temporal server that runs already (`host:port`); null: start one. */
  readonly temporalAddress: string | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws WaybillError `config_invalid` naming the variable that is wrong */
export async function upSettings(environment: Environment): Promise<UpSettings> {
  const config = parseConfig(environment);
  return {
    home: path.resolve(config.home),
    ports: await readPorts(environment),
    databaseUrl: config.database.adminUrl,
    temporalAddress: environment['TEMPORAL_ADDRESS'] ? environment['TEMPORAL_ADDRESS'] : null,
  };
}

/** As we reach it: a server that listens everywhere listens here, too. */
export function localUrl(settings: UpSettings, name: LocalPort): string {
  return `http://127.0.0.1:${settings.ports[name]}`;
}

/** What to say when a port is taken. */
export function portWish(name: PortName, port: number): PortWish {
  const { variable: setting, wantedBy } = PORT_SETTINGS[name];
  return { port, wantedBy, setting };
}

const Port = z.coerce.number().int().min(0).max(65_535);

async function readPorts(environment: Environment): Promise<Record<PortName, number>> {
  const ports = new Map<PortName, number>();
  for (const name of Object.keys(PORT_SETTINGS) as PortName[]) {
    const wanted = portOf(environment, PORT_SETTINGS[name]);
    ports.set(name, wanted === 0 ? await anotherPort([...ports.values()]) : wanted);
  }
  return Object.fromEntries(ports) as Record<PortName, number>;
}

/** A free port that is none of these. */
async function anotherPort(taken: readonly number[]): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (!taken.includes(port)) return port;
  }
}

function portOf(
  environment: Environment,
  { variable, port }: (typeof PORT_SETTINGS)[PortName],
): number {
  const written = environment[variable];
  const parsed = Port.safeParse(written === undefined || written === '' ? port : written);
  if (parsed.success) return parsed.data;
  throw new WaybillError('config_invalid', `${variable} is no port number`, { field: variable });
}
