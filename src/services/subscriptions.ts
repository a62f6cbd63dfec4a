/**
 * Subscriptions that their tenant makes and changes itself: each change is a publication of one document,
 * with the checks of any fleet (docs/architecture, "Subscriptions").
 */
import { readCatalogHead, readSubscriptions } from '../db/catalog';
import type { Database, Run } from '../db/database';
import { WaybillError } from '../domain/errors';
import type { TenantId } from '../domain/ids';
import type { SubscriptionRow } from '../schemas/catalog-rows';
import { readFleet, type Fleet } from '../schemas/fleet';
import { MAX_PREVIOUS_INGRESSES } from '../schemas/fleet/documents';
import { FleetInvalid } from '../schemas/fleet/mistakes';
import { writtenSubscription } from '../schemas/fleet/written-documents';
import { fleetText } from '../schemas/fleet/yaml-texts';
import type { SubscriptionChange, SubscriptionWish } from '../schemas/subscription-wishes';
import type { SecretProvider } from '../secrets/provider';
import { changesOf, publishChange, type Publisher } from './publications';
import { requireOwnSecrets, requireUsableSecrets } from './subscription-secrets';

export interface SubscriptionServices {
  /** Role waybill_control. */
  readonly control: Database;
  /** What a tenant's own references must begin with; `{tenant}` stands for its name. */
  readonly tenantSecrets: readonly string[];
  /** Of this process: what it cannot read says nothing. */
  readonly secrets: SecretProvider;
  /** A new reference of an ingress: at least 16 characters that nobody can guess. */
  readonly newIngressRef: () => string;
}

export interface SubscriptionKey {
  readonly tenantId: TenantId;
  readonly subscriptionId: string;
}

/** How long a reference still works that was rotated without a word on that. */
const KEPT_MS = 86_400_000;

/**
 * Makes a subscription with an ingress of its own. One that is there already and is the same is left as
 * it is.
 * @throws WaybillError `subscription_exists`, `subscription_invalid`, `publication_busy`
 */
export async function createSubscription(
  services: SubscriptionServices,
  { tenantId, subscriptionId }: SubscriptionKey,
  wish: SubscriptionWish,
  publisher: Publisher,
): Promise<'created' | 'existing'> {
  let outcome: 'created' | 'existing' = 'created';
  await requireUsable(services, { tenantId, subscriptionId }, wish);
  await publishing(services, publisher, async (run) => {
    const before = await readOne(run, { tenantId, subscriptionId });
    const written = { kind: 'Subscription', tenant: tenantId, id: subscriptionId };
    const made = (ref: string, more: object) =>
      oneDocument({ ...written, ...asDocument(wish), ingress: { ...wish.ingress, ref, ...more } });
    requireOwnSecrets(services.tenantSecrets, tenantId, wish.ingress.secrets, before);
    if (before === undefined) return made(services.newIngressRef(), {});
    if (before.state === 'deactivated') throw exists('It was deactivated; take another id.');
    const { ref = services.newIngressRef(), previous = [] } = before.ingress ?? {};
    const differs = (await changesOf(run, made(ref, { previous }))).length > 0;
    if (differs) throw exists('');
    outcome = 'existing';
    return null;
  });
  return outcome;
}

/**
 * Changes what the wish names, and leaves the rest.
 * @throws WaybillError `not_found`, `subscription_invalid`, `publication_busy`
 */
export async function changeSubscription(
  services: SubscriptionServices,
  key: SubscriptionKey,
  wish: SubscriptionChange,
  publisher: Publisher,
): Promise<void> {
  await requireUsable(services, key, wish);
  await changing(services, key, publisher, (before) => {
    const { secrets, bodyLimit } = wish.ingress ?? {};
    requireOwnSecrets(services.tenantSecrets, key.tenantId, secrets ?? [], before);
    const ingress = { ...(secrets && { secrets }), ...(bodyLimit && { bodyLimit }) };
    const written = writtenSubscription(before);
    return {
      ...{ ...written, ...asDocument(wish) },
      ingress: before.ingress === null ? undefined : { ...ingressOf(written), ...ingress },
    };
  });
}

/** Ends it: its ingress is gone, and what is pending fails. Twice is once. Throws as `changeSubscription`. */
export async function deactivateSubscription(
  services: SubscriptionServices,
  key: SubscriptionKey,
  publisher: Publisher,
): Promise<void> {
  await changing(services, key, publisher, (before) => ({
    ...writtenSubscription(before),
    state: 'deactivated',
  }));
}

/**
 * Gives the ingress the reference `ref`, which nobody can guess; the one it had works until `oldUntil`
 * (null: for another day). One that it has, or had, is not given again. Throws as `changeSubscription`.
 */
export async function rotateIngress(
  services: SubscriptionServices,
  key: SubscriptionKey,
  { ref, oldUntil }: { readonly ref: string; readonly oldUntil: string | null },
  publisher: Publisher,
): Promise<void> {
  await changing(services, key, publisher, (before, nowMs) => {
    const written = writtenSubscription(before);
    if (before.ingress === null) throw invalid('it has no ingress, so there is nothing to rotate');
    if ([before.ingress, ...before.ingress.previous].some((had) => had.ref === ref)) return null;
    const until = oldUntil ?? new Date(nowMs + KEPT_MS).toISOString();
    const previous = [{ ref: before.ingress.ref, until }, ...before.ingress.previous];
    return {
      ...written,
      ingress: {
        ...ingressOf(written),
        ref,
        previous: previous.slice(0, MAX_PREVIOUS_INGRESSES),
      },
    };
  });
}

/** Publishes what `change` makes of the subscription as it is (null: nothing), whatever else happens to it meanwhile. */
async function changing(
  services: SubscriptionServices,
  key: SubscriptionKey,
  publisher: Publisher,
  change: (before: SubscriptionRow, nowMs: number) => Readonly<Record<string, unknown>> | null,
): Promise<void> {
  await publishing(services, publisher, async (run) => {
    const before = await readOne(run, key);
    if (before === undefined) throw new WaybillError('not_found');
    // Only who ends it says a state: it may be paused or resumed at this very moment.
    const written = change(before, (await readCatalogHead(run)).nowMs);
    if (written === null) return null;
    const state = written['state'] === before.state ? undefined : written['state'];
    return oneDocument({ ...written, state });
  });
}

async function publishing(
  { control }: SubscriptionServices,
  publisher: Publisher,
  plan: (run: Run) => Promise<Fleet | null>,
): Promise<void> {
  try {
    await publishChange(control, plan, publisher);
  } catch (error) {
    throw error instanceof FleetInvalid ? told(error) : error;
  }
}

async function requireUsable(
  { control, secrets: provider, tenantSecrets: places }: SubscriptionServices,
  key: SubscriptionKey,
  { instance, ingress }: SubscriptionChange,
): Promise<void> {
  const wish = { instance, secrets: ingress?.secrets ?? [] };
  const services = { control, provider, places };
  await requireUsableSecrets(services, key.tenantId, wish, (run) => readOne(run, key));
}

async function readOne(
  run: Run,
  { tenantId, subscriptionId }: SubscriptionKey,
): Promise<SubscriptionRow | undefined> {
  const [row] = await readSubscriptions(run, [{ tenant: tenantId, id: subscriptionId }], []);
  return row;
}

function oneDocument(written: Readonly<Record<string, unknown>>): Fleet {
  return readFleet(fleetText([written]), new Map());
}

function ingressOf(written: Readonly<Record<string, unknown>>): object {
  const ingress = written['ingress'];
  return typeof ingress === 'object' && ingress !== null ? ingress : {};
}

/** The fields of a document that a wish names. */
function asDocument(wish: SubscriptionChange) {
  const { instance, target, eventTypes, retry, lane, drainPerSecond } = wish;
  return {
    ...(instance === undefined ? {} : { instance }),
    ...(target === undefined ? {} : { target }),
    ...(eventTypes === undefined ? {} : { eventTypes }),
    ...(retry === undefined ? {} : { retry: retry ?? undefined }),
    ...(lane === undefined ? {} : { lane }),
    ...(drainPerSecond === undefined ? {} : { drainPerSecond: drainPerSecond ?? undefined }),
  };
}

/** Fields by the names that the API gives them. */
const FIELDS: Readonly<Record<string, string>> = { instance: 'instanceId', target: 'targetId' };

function told({ code, mistakes }: FleetInvalid): WaybillError {
  const [first] = mistakes;
  const field = FIELDS[first?.field ?? ''] ?? first?.field ?? '';
  const lines = mistakes.map((mistake) => {
    const problem = mistake.problem.replace(', neither in this file nor in the catalog', '');
    return `${FIELDS[mistake.field] ?? mistake.field}: ${problem}`;
  });
  const detail = lines.join('; ');
  return code === 'fleet_invalid'
    ? invalid(detail, field)
    : new WaybillError(code, detail, { field });
}

function exists(detail: string): WaybillError {
  return new WaybillError('subscription_exists', detail, { field: 'subscriptionId' });
}

function invalid(detail: string, field = 'ingress'): WaybillError {
  return new WaybillError('subscription_invalid', detail, { field });
}
