/** The sinks that a publication writes: those of the fleet that differ from what is published. */
import type { PublishedSink } from '../../db/event-sinks';
import type { EventSinkRow } from '../../schemas/event-rows';
import type { Fleet } from '../../schemas/fleet';
import type { EventSinkDocument } from '../../schemas/fleet/event-sink-documents';
import type { Published } from './catalog-view';
import { keyOf, things } from './catalog-view';
import type { Difference } from './row-differences';
import { differs, rowDifference } from './row-differences';

export function eventSinkDifferences(
  fleet: Fleet,
  published: Published,
): Difference<PublishedSink>[] {
  return things(fleet.eventSinks)
    .map((thing) => {
      const before = published.eventSinks.get(keyOf(thing));
      const row = eventSinkRow(thing, before);
      const { tenant, id, ...after } = row;
      const written = { ...row, stateChanges: row.state !== before?.state };
      return rowDifference({ kind: 'EventSink', id, tenant }, written, { before, after });
    })
    .filter(differs);
}

/** A state that the document leaves out stays, and is `active` for a new sink. */
function eventSinkRow(thing: EventSinkDocument, before: EventSinkRow | undefined): EventSinkRow {
  const { tenant, id, url, timeout, types, secretRefs } = thing;
  const state = thing.state ?? before?.state ?? 'active';
  return {
    ...{ tenant, id, url, timeoutMs: timeout, topics: types, secretRefs, state },
    pauseReason: state === 'paused' ? (before?.pauseReason ?? null) : null,
  };
}
