/** The line in which the Temporal server is killed while deliveries arrive. */
import type { Outcome, StoryDeps } from './deps';
import { reached, receivedOnce, sendAccepted } from './moves';

/** Clients find a server that is back within seconds; what was started before it went, later. */
const RECOVERY_DEADLINE_MS = 40_000;
const BEFORE = 2;
const AWAY = 3;
const AFTER = 1;

/** All of them are accepted, and all end acknowledged, received once each. */
export async function temporalKilled(deps: StoryDeps): Promise<Outcome> {
  const { withoutTemporal } = deps;
  if (withoutTemporal === null) {
    return {
      id: null,
      seen: 'left out: this Temporal server is not ours to kill',
      url: null,
    };
  }
  const deliveryIds: string[] = [];
  const arrive = async (count: number) => {
    for (let sent = 0; sent < count; sent += 1) {
      deliveryIds.push(await sendAccepted(deps, deps.payloads.push, deps.newGuid()));
    }
  };
  await arrive(BEFORE);
  await withoutTemporal(() => arrive(AWAY));
  await arrive(AFTER);
  const deliveries = await Promise.all(
    deliveryIds.map((id) => reached(deps, id, 'Acknowledged', RECOVERY_DEADLINE_MS)),
  );
  for (const id of deliveryIds) await receivedOnce(deps, id, deps.payloads.push);
  return {
    id: deliveryIds[BEFORE] ?? null,
    seen: `${deliveryIds.length} accepted, ${AWAY} of them while it was away; all Acknowledged, received once each`,
    url: deliveries[BEFORE]?.workflowUrl ?? null,
  };
}
