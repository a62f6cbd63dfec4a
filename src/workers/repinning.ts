/** Moving actions, as the API is asked to: it calls their old hosts itself. */
import { v7 as uuidv7 } from 'uuid';
import { routeOperator } from '../db/route-operations';
import { createHostClient } from '../hosts/client';
import { ROUTE_TOKEN_ISSUER } from '../hosts/protocol/route-tokens';
import type { HttpDeps } from '../http/deps';
import { repinAction } from '../services/actions/repin';
import { nudge } from '../services/actions/nudging';
import type { StartServices } from '../services/actions/starting';
import type { SigningKey } from '../signing/keys';
import type { Closers } from './closers';

/** People move actions one by one. */
const CONNECTIONS_PER_HOST = 2;

/** What it opens is added to `closers`. */
export function repinning(
  services: Pick<StartServices, 'data' | 'attend' | 'sign'>,
  key: SigningKey,
  closers: Closers,
): HttpDeps['repin'] {
  const hosts = createHostClient({
    issuer: ROUTE_TOKEN_ISSUER,
    key,
    // When a token was issued is for people; until when it is good is the database's word.
    nowMs: Date.now,
    newJti: () => uuidv7(),
    connectionsPerHost: CONNECTIONS_PER_HOST,
  });
  closers.add(() => hosts.close());
  const operator = routeOperator(services.data, services.sign);
  const wake = (action: Parameters<typeof nudge>[1]) => nudge(services, action);
  return (ref, wish) => repinAction({ operator, hosts, nudge: wake }, ref, wish);
}
