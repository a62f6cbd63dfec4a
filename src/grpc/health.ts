/** The standard health service: as honest as /ready, which it asks again and again. */
import type { Server } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { SERVICE_NAME } from './definition';
import { DEFAULT_LIMITS, type GrpcDeps } from './deps';

export interface HealthService {
  addTo(server: Server): void;
  /** From now on nothing is served: balancers look elsewhere. */
  stop(): void;
}

/** Resolves once it knows whether the process is ready. */
export async function healthService(deps: GrpcDeps): Promise<HealthService> {
  const health = new HealthImplementation();
  const tell = (ready: boolean) => {
    // The empty name is the server as a whole.
    for (const name of ['', SERVICE_NAME]) {
      health.setStatus(name, ready ? 'SERVING' : 'NOT_SERVING');
    }
  };
  let stopped = false;
  let next: NodeJS.Timeout | undefined;
  const look = async () => {
    const { ready } = await deps.ready().catch(() => ({ ready: false }));
    // Typed as what it was before the wait.
    if (isOver()) return;
    tell(ready);
    next = setTimeout(() => void look(), (deps.limits ?? DEFAULT_LIMITS).healthMs);
  };
  const isOver = () => stopped;
  await look();
  return {
    addTo: (server) => {
      health.addToServer(server);
    },
    stop() {
      stopped = true;
      clearTimeout(next);
      tell(false);
    },
  };
}
