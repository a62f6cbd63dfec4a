/** References to secrets that a tenant writes itself: its own, and of secrets that can be used. */
import { readInstances, readVersions } from '../db/catalog';
import type { Database, Run } from '../db/database';
import { WaybillError } from '../domain/errors';
import type { TenantId } from '../domain/ids';
import type { SubscriptionRow } from '../schemas/catalog-rows';
import { WebhookScheme } from '../schemas/webhook-schemes';
import type { SecretProvider } from '../secrets/provider';
import { compileScheme, type CompiledScheme } from '../signing/webhooks/compile';
import { secretProblems } from './publications/secret-values';
import { tenantReferenceProblem } from './tenant-secrets';

type Secrets = readonly { readonly ref: string }[];

/**
 * References that were published for this subscription before are its own, whoever wrote them.
 * @param places as `tenantReferenceProblem` has them
 * @throws WaybillError `subscription_invalid`
 */
export function requireOwnSecrets(
  places: readonly string[],
  tenantId: TenantId,
  secrets: Secrets,
  before: SubscriptionRow | undefined,
): void {
  for (const [index, { ref }] of secrets.entries()) {
    if (isKnown(before, ref)) continue;
    const problem = tenantReferenceProblem(places, tenantId, ref);
    if (problem !== null) throw invalid(problem, index);
  }
}

/**
 * The same of what is new, for what can be read here: a secret that is empty, or no key of the scheme,
 * verifies nothing. Nothing is read before the references are known to be the tenant's, and no transaction
 * is open meanwhile.
 * @param look reads the subscription as it is; `instance`: the one that is wished for
 * @throws WaybillError `subscription_invalid`
 */
export async function requireUsableSecrets(
  {
    control,
    provider,
    places,
  }: {
    readonly control: Database;
    readonly provider: SecretProvider;
    readonly places: readonly string[];
  },
  tenantId: TenantId,
  wish: { readonly instance: string | undefined; readonly secrets: Secrets },
  look: (run: Run) => Promise<SubscriptionRow | undefined>,
): Promise<void> {
  if (wish.secrets.length === 0) return;
  const references = await control.snapshot(async (run) => {
    const before = await look(run);
    requireOwnSecrets(places, tenantId, wish.secrets, before);
    const scheme = await schemeOf(run, tenantId, wish.instance ?? before?.instance ?? '');
    return wish.secrets.map(({ ref }) => (isKnown(before, ref) ? null : { ref, scheme }));
  });
  const fresh = references.filter((reference) => reference !== null);
  const problems = await secretProblems(fresh, provider);
  for (const [at, problem] of problems.entries()) {
    if (problem !== null) throw invalid(problem, references.indexOf(fresh[at] ?? null));
  }
}

async function schemeOf(run: Run, tenant: TenantId, id: string): Promise<CompiledScheme | null> {
  const [instance] = await readInstances(run, [{ tenant, id }]);
  if (instance === undefined) return null;
  const { connector, version } = instance;
  const [found] = await readVersions(run, [{ connector, version }]);
  const scheme = WebhookScheme.nullable().parse(found?.webhookScheme ?? null);
  return scheme === null ? null : compileScheme(scheme);
}

function isKnown(before: SubscriptionRow | undefined, ref: string): boolean {
  return JSON.stringify(before?.ingress?.secrets ?? []).includes(JSON.stringify(ref));
}

function invalid(detail: string, index: number): WaybillError {
  return new WaybillError('subscription_invalid', detail, {
    field: `ingress.secrets[${index}].ref`,
  });
}
