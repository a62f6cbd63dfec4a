/** Moving actions as the API does: real client, real Postgres; who is to be woken is written down. */
import { randomUUID } from 'node:crypto';
import type { Database } from '../../src/db/database';
import { routeOperator } from '../../src/db/route-operations';
import { createHostClient } from '../../src/hosts/client';
import { ROUTE_TOKEN_ISSUER } from '../../src/hosts/protocol/route-tokens';
import type { HttpDeps } from '../../src/http/deps';
import { actionSigner } from '../../src/services/actions/receipts';
import { repinAction } from '../../src/services/actions/repin';
import type { SigningKey } from '../../src/signing/keys';

export function repinDeps(
  data: Database,
  key: SigningKey,
  woken: [string, string][],
): HttpDeps['repin'] {
  const hosts = createHostClient({
    ...{ issuer: ROUTE_TOKEN_ISSUER, key, nowMs: Date.now, newJti: randomUUID },
    connectionsPerHost: 1,
  });
  const nudge = ({ actionId }: { readonly actionId: string }) => {
    woken.push(['nudge', actionId]);
    return Promise.resolve();
  };
  const operator = routeOperator(data, actionSigner(key));
  return (ref, wish) => repinAction({ operator, hosts, nudge }, ref, wish);
}
