/**
 * Publishing a fleet as one revision of the catalog (docs/architecture, "Publishing"). A publication
 * adds and changes; what the fleet does not name is left alone.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Run } from '../db/database';
import { readCatalogHead } from '../db/catalog';
import { lockPublication, writePublication } from '../db/publications';
import { WaybillError } from '../domain/errors';
import type { Fleet } from '../schemas/fleet';
import { FleetInvalid } from '../schemas/fleet/mistakes';
import { readPublished } from './publications/catalog-view';
import type { FleetChanges } from './publications/changes';
import { fleetChanges } from './publications/changes';
import { referenceMistakes } from './publications/references';
import type { FleetChange } from './publications/row-differences';

export interface PublishedFleet {
  /** The catalog's revision now. */
  readonly revision: number;
  /** False: all of it was there already. */
  readonly changed: boolean;
  readonly changes: readonly FleetChange[];
}

/** A wait for the lock is short, because readers that come later queue behind it. */
const LOCK_TIMEOUT_MS = 400;
const LOCK_ATTEMPTS = 6;
const LOCK_PAUSE_MS = 150;
/** Most changes that the audit names one by one. */
const AUDITED_CHANGES = 500;

/**
 * Validates a fleet, then publishes what differs in one transaction under the exclusive publication
 * lock: rows, the next revision, events and an audit line. A fleet that is there already changes
 * nothing and keeps the revision. Secrets are never read: a fleet holds references only.
 * @param control a pool of the role waybill_control
 * @param actor who publishes, for the audit
 * @throws FleetInvalid (`fleet_invalid`, or the one code of its own that all of them share, such as
 * `version_immutable`) with every mistake; nothing was applied
 * @throws WaybillError `publication_busy` when others publish or read for too long
 */
export async function publishFleet(
  control: Database,
  fleet: Fleet,
  actor: string,
): Promise<PublishedFleet> {
  // Mistakes are found, and a fleet that is there already is told so, before anybody has to wait.
  const known = await control.transaction(async (run) => {
    const { revision, changes } = await compare(run, fleet);
    // The same revision before and after: nobody published between the reads of the comparison.
    const still = (await readCatalogHead(run)).revision;
    return changes.length === 0 && still === revision ? revision : null;
  });
  if (known !== null) return unchanged(known);
  return patiently(() =>
    control.transaction(async (run) => {
      await lockPublication(run, LOCK_TIMEOUT_MS);
      const { revision, changes, rows } = await compare(run, fleet);
      if (changes.length === 0) return unchanged(revision);
      const published = await writePublication(run, rows, { actor, detail: audited(changes) });
      return { revision: published, changed: true, changes };
    }),
  );
}

/** What differs from the catalog as it is now. Throws when the fleet has mistakes. */
async function compare(
  run: Run,
  fleet: Fleet,
): Promise<FleetChanges & { readonly revision: number }> {
  const published = await readPublished(run, fleet);
  const mistakes = [...fleet.mistakes, ...referenceMistakes(fleet, published)];
  if (mistakes.length > 0) {
    throw new FleetInvalid([...mistakes].sort((a, b) => a.line - b.line));
  }
  return { revision: published.revision, ...fleetChanges(fleet, published) };
}

function unchanged(revision: number): PublishedFleet {
  return { revision, changed: false, changes: [] };
}

/** Names of things and fields only: values stay out of the audit. */
function audited(changes: readonly FleetChange[]): object {
  return {
    count: changes.length,
    changes: changes.slice(0, AUDITED_CHANGES).map(({ kind, id, tenant, action, fields }) => ({
      ...{ kind, id, tenant, action },
      fields: fields.map(({ field }) => field),
    })),
  };
}

async function patiently(publish: () => Promise<PublishedFleet>): Promise<PublishedFleet> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await publish();
    } catch (error) {
      const busy = error instanceof WaybillError && error.code === 'publication_busy';
      if (!busy || attempt === LOCK_ATTEMPTS) throw error;
      await delay(LOCK_PAUSE_MS);
    }
  }
}
