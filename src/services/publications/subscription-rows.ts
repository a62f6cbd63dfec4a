/** The rows of a fleet's subscriptions, and of those that a revoked instance takes along. */
import type { SubscriptionRow } from '../../schemas/catalog-rows';
import type { Fleet } from '../../schemas/fleet';
import type { SubscriptionDocument } from '../../schemas/fleet/documents';
import type { Published } from './catalog-view';
import { keyOf, things } from './catalog-view';
import type { Intended } from './intended';
import { asJson } from './rows';

export function subscriptionRows(
  fleet: Fleet,
  published: Published,
  intended: Intended,
): SubscriptionRow[] {
  const written = things(fleet.subscriptions).map((thing) => subscriptionRow(thing, published));
  const inFile = new Set(written.map(keyOf));
  const others = [...published.subscriptions.values()].filter((row) => !inFile.has(keyOf(row)));
  return [...written, ...others].map((row) => {
    const instance = intended.instance({ tenant: row.tenant, id: row.instance });
    return instance?.status === 'revoked'
      ? { ...row, state: 'deactivated', pauseReason: null }
      : row;
  });
}

/** A document's row; a state that it leaves out stays, and is `active` for a new subscription. */
function subscriptionRow(thing: SubscriptionDocument, published: Published): SubscriptionRow {
  const { tenant, id, instance, target, eventTypes } = thing;
  const before = published.subscriptions.get(keyOf(thing));
  const state = thing.state ?? before?.state ?? 'active';
  return {
    ...{ tenant, id, instance, target, eventTypes, state },
    retry: asJson(thing.retry),
    lane: thing.lane,
    drainPerSecond: thing.drainPerSecond,
    pauseReason: state === 'paused' ? (before?.pauseReason ?? null) : null,
    ingress:
      thing.ingress === null ? null : { ...thing.ingress, secrets: asJson(thing.ingress.secrets) },
  };
}
