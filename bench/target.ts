/** A target on loopback: answers at once, or never, and counts the calls of each delivery. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Closers } from '../src/workers/closers';
import { Sightings } from './sightings';

export interface Target {
  readonly url: string;
  /** Calls so far, repeated ones included. */
  readonly calls: number;
  /** Different deliveries so far. */
  readonly deliveries: number;
  /** Resolves when this delivery has been answered; at once when it was. */
  answered(deliveryId: string, patienceMs?: number): Promise<void>;
  /** From now on it takes what it is sent. */
  repair(): void;
}

/** `well` answers 200, `broken` 400, which no sender tries again; `hanging` takes every call and never answers. */
type Manner = 'well' | 'broken' | 'hanging';

export async function startTarget(closers: Closers, manner: Manner = 'well'): Promise<Target> {
  const sightings = new Sightings('the target');
  let behaves = manner;
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      response.statusCode = behaves === 'broken' ? 400 : 200;
      if (behaves !== 'hanging') response.end('ok');
      sightings.note(String(request.headers['waybill-delivery-id']));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closers.add(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    get calls() {
      return sightings.calls;
    },
    get deliveries() {
      return sightings.different;
    },
    answered: (deliveryId, patienceMs) => sightings.seen(deliveryId, patienceMs),
    repair: () => {
      behaves = 'well';
    },
  };
}
