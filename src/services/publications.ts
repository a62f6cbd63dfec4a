/**
 * Publishing a fleet as one revision of the catalog (docs/architecture, "Publishing"). A publication
 * adds and changes; what the fleet does not name is left alone.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Run } from '../db/database';
import {
  finishPublication,
  lockPublication,
  lockPublisher,
  writeDefinitions,
} from '../db/publications';
import { WaybillError } from '../domain/errors';
import { point } from '../points';
import { canonicalJson } from '../schemas/canonical-json';
import type { Fleet } from '../schemas/fleet';
import { FleetInvalid } from '../schemas/fleet/mistakes';
import type { Published } from './publications/catalog-view';
import { lockPublishedSubscriptions, readPublished } from './publications/catalog-view';
import type { FleetChanges } from './publications/changes';
import { fleetChanges } from './publications/changes';
import { signatureMistakes } from './publications/evidence';
import { referenceMistakes } from './publications/references';
import type { FleetChange } from './publications/row-differences';

export interface PublishedFleet {
  /** The catalog's revision now. */
  readonly revision: number;
  /** False: all of it was there already. */
  readonly changed: boolean;
  readonly changes: readonly FleetChange[];
}

/** What a fleet would change of the catalog as it is. */
export interface FleetDifference {
  /** The catalog's revision that it was compared with. */
  readonly revision: number;
  readonly changes: readonly FleetChange[];
}

/** Other publishers; nobody queues behind this wait but more of them. */
const PUBLISHER_WAIT_MS = 5_000;
/** Those who route now: a wait for them is short, because whoever comes later queues behind it. */
const LOCK_WAIT_MS = 400;
const LOCK_ATTEMPTS = 6;
const LOCK_PAUSE_MS = 150;
/** Most changes that the audit names one by one. */
const AUDITED_CHANGES = 500;

/**
 * Validates a fleet, then publishes what differs in one transaction: rows, the next revision, events
 * and an audit line. Publishers follow one another; all that takes long is done before the exclusive
 * publication lock, so that routing waits for the last step alone. A fleet that is there already
 * changes nothing and keeps the revision. Secrets are not read: a fleet holds references only, and who
 * publishes may look at them before (`secretMistakes`).
 * @param control a pool of the role waybill_control
 * @param actor who publishes, for the audit
 * @throws FleetInvalid (`fleet_invalid`, or the one code of its own that all of them share, such as
 * `version_immutable`) with every mistake; nothing was applied
 * @throws WaybillError `publication_busy` when others publish or route for too long
 */
export async function publishFleet(
  control: Database,
  fleet: Fleet,
  actor: string,
): Promise<PublishedFleet> {
  // Mistakes are found, and a fleet that is there already is told so, before anybody has to wait.
  const verified = await withSignatures(fleet);
  const { revision, changes } = await difference(control, verified);
  if (changes.length === 0) return unchanged(revision);
  return control.transaction((run) => publish(run, verified, actor));
}

/**
 * What publishing the fleet would change now, with the same checks; nothing is written, and all of it
 * is read as of one instant.
 * @param control a pool of the role waybill_control
 * @throws FleetInvalid as `publishFleet` does
 */
export async function diffFleet(control: Database, fleet: Fleet): Promise<FleetDifference> {
  return difference(control, await withSignatures(fleet));
}

/** The fleet with the mistakes of its statements' signatures: looked at once, with nothing locked. */
async function withSignatures(fleet: Fleet): Promise<Fleet> {
  return { ...fleet, mistakes: [...fleet.mistakes, ...(await signatureMistakes(fleet))] };
}

async function difference(control: Database, fleet: Fleet): Promise<FleetDifference> {
  const published = await control.snapshot((run) => readPublished(run, fleet));
  return { revision: published.revision, changes: compare(fleet, published).changes };
}

/** Who publishes, and why where a reason was asked for; for the audit. */
export interface Publisher {
  readonly actor: string;
  readonly reason?: string;
}

/**
 * Publishes a change that is made of what is there: `plan` runs with other publishers kept away, in the
 * transaction of the publication, and answers the fleet (null: nothing to publish). It may run again
 * after a conflict. All else as `publishFleet`.
 * @param control a pool of the role waybill_control
 */
export async function publishChange(
  control: Database,
  plan: (run: Run) => Promise<Fleet | null>,
  publisher: Publisher,
): Promise<void> {
  await control.transaction(async (run) => {
    await keepPublishersAway(run);
    const fleet = await plan(run);
    if (fleet !== null) await publishLocked(run, fleet, publisher);
  });
}

/**
 * What publishing the fleet would change, as seen by the transaction.
 * @throws FleetInvalid as `publishFleet` does
 */
export async function changesOf(run: Run, fleet: Fleet): Promise<readonly FleetChange[]> {
  return compare(fleet, await readPublished(run, fleet)).changes;
}

async function publish(run: Run, fleet: Fleet, actor: string): Promise<PublishedFleet> {
  await keepPublishersAway(run);
  return await publishLocked(run, fleet, { actor });
}

async function keepPublishersAway(run: Run): Promise<void> {
  if (await lockPublisher(run, PUBLISHER_WAIT_MS)) return;
  throw new WaybillError('publication_busy', 'somebody else publishes; try again');
}

async function publishLocked(
  run: Run,
  fleet: Fleet,
  { actor, reason }: Publisher,
): Promise<PublishedFleet> {
  const published = await readPublished(run, fleet);
  const draft = compare(fleet, published);
  if (draft.changes.length === 0) return unchanged(published.revision);
  await writeDefinitions(run, draft.rows);
  await point('publication.written');
  await lockPatiently(run);
  // Waybill pauses a subscription by itself; all else stays as it was read while others are kept away.
  const subscriptions = await lockPublishedSubscriptions(run, fleet);
  const { changes, rows } = same(subscriptions, published.subscriptions)
    ? draft
    : compare(fleet, { ...published, subscriptions });
  if (changes.length === 0) return unchanged(published.revision);
  const detail = { ...audited(changes), ...(reason === undefined ? {} : { reason }) };
  const revision = await finishPublication(run, rows, { actor, detail });
  return { revision, changed: true, changes };
}

/** What differs from the catalog. Throws when the fleet has mistakes. */
function compare(fleet: Fleet, published: Published): FleetChanges {
  const mistakes = [...fleet.mistakes, ...referenceMistakes(fleet, published)];
  if (mistakes.length > 0) {
    throw new FleetInvalid([...mistakes].sort((a, b) => a.line - b.line));
  }
  return fleetChanges(fleet, published);
}

function same(one: Published['subscriptions'], other: Published['subscriptions']): boolean {
  return canonicalJson([...one]) === canonicalJson([...other]);
}

function unchanged(revision: number): PublishedFleet {
  return { revision, changed: false, changes: [] };
}

async function lockPatiently(run: Run): Promise<void> {
  for (let attempt = 1; !(await lockPublication(run, LOCK_WAIT_MS)); attempt += 1) {
    if (attempt === LOCK_ATTEMPTS) throw new WaybillError('publication_busy');
    await delay(LOCK_PAUSE_MS);
  }
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
