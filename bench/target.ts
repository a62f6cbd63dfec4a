/** A healthy target on loopback: answers 200 at once and counts the calls of each delivery. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Closers } from '../src/workers/closers';

export interface Target {
  readonly url: string;
  /** Calls so far, repeated ones included. */
  readonly calls: number;
  /** Different deliveries so far. */
  readonly deliveries: number;
  /** Resolves when this delivery has been answered; at once when it was. */
  answered(deliveryId: string): Promise<void>;
}

/** No delivery of a benchmark takes this long; one that does ends the run. */
const PATIENCE_MS = 60_000;

export async function startTarget(closers: Closers): Promise<Target> {
  const seen = new Set<string>();
  const waiting = new Map<string, () => void>();
  let calls = 0;
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      response.end('ok');
      const id = String(request.headers['waybill-delivery-id']);
      calls += 1;
      seen.add(id);
      waiting.get(id)?.();
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
      return calls;
    },
    get deliveries() {
      return seen.size;
    },
    answered: async (deliveryId) => {
      if (seen.has(deliveryId)) return;
      await new Promise<void>((resolve, reject) => {
        const late = setTimeout(() => {
          reject(new Error(`the target has not seen ${deliveryId} within ${PATIENCE_MS / 1000} s`));
        }, PATIENCE_MS);
        waiting.set(deliveryId, () => {
          clearTimeout(late);
          waiting.delete(deliveryId);
          resolve();
        });
      });
    },
  };
}
