/** Secrets that a fleet refers to, as far as the process that publishes it can read them. */
import type { Fleet } from '../../schemas/fleet';
import type { SubscriptionDocument } from '../../schemas/fleet/documents';
import type { FieldPath, FleetMistake, Place, Placed } from '../../schemas/fleet/mistakes';
import { mistakeAt } from '../../schemas/fleet/mistakes';
import { SecretError, type SecretProvider } from '../../secrets/provider';
import { compileScheme, type CompiledScheme } from '../../signing/webhooks/compile';
import { secretProblem } from '../../signing/webhooks/secrets';

interface Reference {
  readonly place: Place;
  readonly path: FieldPath;
  readonly ref: string;
  /** What it must be a key of; null where that is unknown, or nothing. */
  readonly scheme: CompiledScheme | null;
}

/**
 * A secret that is there and empty, or no key of its ingress's scheme, each with its field. The
 * processes that use it may run elsewhere: what is not there, or cannot be read here, says nothing.
 * A scheme is known where its connector stands in the same fleet. Never tells a value.
 */
export async function secretMistakes(
  fleet: Fleet,
  provider: SecretProvider,
): Promise<FleetMistake[]> {
  // At once: where Vault is away, each of them would be waited for.
  const found = await Promise.all(
    referencesOf(fleet).map(async (reference) => {
      const problem = await problemOf(reference, provider);
      return problem === null ? null : mistakeAt(reference.place, reference.path, problem);
    }),
  );
  return found.filter((mistake) => mistake !== null);
}

async function problemOf(
  { ref, scheme }: Reference,
  provider: SecretProvider,
): Promise<string | null> {
  try {
    const { value } = await provider.resolve(ref);
    const problem = scheme === null ? null : secretProblem(scheme, value.reveal());
    return problem === null ? null : `${ref}, as it is read here: ${problem}`;
  } catch (error) {
    if (!(error instanceof SecretError)) throw error;
    return error.fault === 'empty' ? `${ref}, as it is read here: the secret is empty` : null;
  }
}

function referencesOf(fleet: Fleet): Reference[] {
  const schemes = schemesOf(fleet);
  return [
    ...fleet.subscriptions.flatMap((placed) => ingressReferences(placed, schemes)),
    ...fleet.targets.flatMap(({ place, thing }) =>
      listed(place, ['http', 'secretRefs'], thing.http?.secretRefs ?? []),
    ),
    ...fleet.instances.flatMap(({ place, thing }) =>
      listed(place, ['signingSecretRefs'], thing.signingSecretRefs),
    ),
    ...fleet.eventSinks.flatMap(({ place, thing }) =>
      listed(place, ['secretRefs'], thing.secretRefs),
    ),
  ];
}

function listed(place: Place, path: FieldPath, refs: readonly string[]): Reference[] {
  return refs.map((ref, index) => ({ place, path: [...path, index], ref, scheme: null }));
}

function ingressReferences(
  { place, thing }: Placed<SubscriptionDocument>,
  schemes: ReadonlyMap<string, CompiledScheme>,
): Reference[] {
  const scheme = schemes.get(`${thing.tenant}/${thing.instance}`) ?? null;
  return (thing.ingress?.secrets ?? []).map(({ ref }, index) => ({
    ...{ place, ref, scheme },
    path: ['ingress', 'secrets', index, 'ref'],
  }));
}

/** The scheme of each instance, by tenant and id. */
function schemesOf({ connectors, instances }: Fleet): Map<string, CompiledScheme> {
  const compiled = new Map(
    connectors.flatMap(({ thing: { id, version, webhookScheme } }) =>
      webhookScheme === null ? [] : [[`${id}@${version}`, compileScheme(webhookScheme)] as const],
    ),
  );
  const found = new Map<string, CompiledScheme>();
  for (const { thing } of instances) {
    const scheme = compiled.get(`${thing.connector}@${thing.version}`);
    if (scheme !== undefined) found.set(`${thing.tenant}/${thing.id}`, scheme);
  }
  return found;
}
