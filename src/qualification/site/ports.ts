/** Ports of loopback that are free now, one for each that listens. */
import { freePort } from '../../workers/embedded/ports';
import type { Ports } from './plans';
import { GATEWAYS, HOSTS, WORKERS } from './topology';

const NAMES = [
  ...['edge', 'lifecycle', 'provider', 'target', 'link', 'postgres', 'temporal', 'temporal-ui'],
  ...GATEWAYS,
  ...WORKERS,
  ...HOSTS.map(({ name }) => name),
];

export async function takePorts(): Promise<Ports> {
  const taken = new Map<string, number>();
  for (const name of NAMES) {
    let port = await freePort();
    while ([...taken.values()].includes(port)) port = await freePort();
    taken.set(name, port);
  }
  return Object.fromEntries(taken) as Ports;
}
