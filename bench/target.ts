/** A target on loopback: answers 200 at once, or never, and counts the calls of each delivery. */
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
  answered(deliveryId: string): Promise<void>;
}

/** @param hangs takes every call and never answers */
export async function startTarget(closers: Closers, hangs = false): Promise<Target> {
  const sightings = new Sightings('the target');
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      if (!hangs) response.end('ok');
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
    answered: (deliveryId) => sightings.seen(deliveryId),
  };
}
