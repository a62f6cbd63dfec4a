/** Secrets that a fleet refers to, as far as the process that publishes it can read them. */
import type { Fleet } from '../../schemas/fleet';
import type { SubscriptionDocument } from '../../schemas/fleet/documents';
import type { FieldPath, FleetMistake, Place, Placed } from '../../schemas/fleet/mistakes';
import { mistakeAt } from '../../schemas/fleet/mistakes';
import { SecretError, type SecretProvider } from '../../secrets/provider';
import { SecretText } from '../../secrets/secret-text';
import { compileScheme, type CompiledScheme } from '../../signing/webhooks/compile';
import { secretProblem } from '../../signing/webhooks/secrets';

interface Reference {
  readonly place: Place;
  readonly path: FieldPath;
  readonly ref: string;
  /** What it must be a key of; null where that is unknown, or nothing. */
  readonly scheme: CompiledScheme | null;
}

/** Read at once. */
const READERS = 8;
/** In all: what is not read by then is left to whoever uses it. */
const BUDGET_MS = 10_000;

/**
 * A secret that is there and empty, or no key of its ingress's scheme, each with its field. The
 * processes that use it may run elsewhere: what is not there, or cannot be read here, says nothing.
 * A scheme is known where its connector stands in the same fleet. Never tells a value.
 */
export async function secretMistakes(
  fleet: Fleet,
  provider: SecretProvider,
  options: ReadingBudget = {},
): Promise<FleetMistake[]> {
  const references = referencesOf(fleet);
  const problems = await secretProblems(references, provider, options);
  return references.flatMap(({ place, path }, index) => {
    const problem = problems[index] ?? null;
    return problem === null ? [] : [mistakeAt(place, path, problem)];
  });
}

interface ReadingBudget {
  /** How long secrets may be read; 10 s unless told. */
  readonly budgetMs?: number;
}

/**
 * The same of some references, a few read at once; answers in their order. Null: nothing speaks against it,
 * as far as is known here.
 */
export async function secretProblems(
  references: readonly Pick<Reference, 'ref' | 'scheme'>[],
  provider: SecretProvider,
  { budgetMs = BUDGET_MS }: ReadingBudget = {},
): Promise<(string | null)[]> {
  const read = await readEach([...new Set(references.map(({ ref }) => ref))], provider, budgetMs);
  return references.map(({ ref, scheme }) => {
    const found = read.get(ref) ?? 'unknown';
    if (found === 'unknown') return null;
    const wrong = scheme === null ? null : secretProblem(scheme, found.reveal());
    const problem = found.reveal() === '' ? 'the secret is empty' : wrong;
    return problem === null ? null : `${ref}, as it is read here: ${problem}`;
  });
}

/** A fleet may name thousands, and Vault may be away: each is read once, a few of them at a time. */
async function readEach(
  refs: readonly string[],
  provider: SecretProvider,
  budgetMs: number,
): Promise<Map<string, SecretText | 'unknown'>> {
  const endMs = performance.now() + budgetMs;
  const found = new Map<string, SecretText | 'unknown'>();
  const waiting = refs.values();
  const readers = Array.from({ length: READERS }, async () => {
    for (const ref of waiting) {
      if (performance.now() >= endMs) return;
      found.set(ref, await readOne(ref, provider));
    }
  });
  await Promise.all(readers);
  return found;
}

async function readOne(ref: string, provider: SecretProvider): Promise<SecretText | 'unknown'> {
  try {
    return (await provider.resolve(ref)).value;
  } catch (error) {
    if (!(error instanceof SecretError)) throw error;
    return error.fault === 'empty' ? new SecretText('') : 'unknown';
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
