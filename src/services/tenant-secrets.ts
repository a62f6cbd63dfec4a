/**
 * Which references to secrets a tenant may write itself: those below a place that is its own. Without that
 * a tenant could name the secrets of another one, or the deployment's (docs/security, "Tenants").
 */
import { posix } from 'node:path';

/**
 * What is wrong with the reference; null: nothing.
 * @param places what references must begin with, such as `file:{tenant}/`; `{tenant}` stands for its name
 */
export function tenantReferenceProblem(
  places: readonly string[],
  tenant: string,
  ref: string,
): string | null {
  const own = places.map((place) => place.replaceAll('{tenant}', tenant));
  const at = ref.indexOf(':') + 1;
  // As a provider of files would read it: `a/../b` is b.
  const plain = ref.slice(0, at) + posix.normalize(ref.slice(at));
  if (own.some((place) => plain.startsWith(place) && plain.length > place.length)) return null;
  return own.length === 0
    ? 'this deployment lets no tenant name secrets; ask its admin to publish the subscription'
    : `must be a secret of the tenant: write a reference that begins with ${own.join(' or ')}`;
}
