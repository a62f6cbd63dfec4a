/**
 * Runs one of the mutations that every scheme must withstand against each shipped scheme. Where a
 * mutation cannot be made of a vendor's request, or must not matter, the test says why in its name and
 * asserts what happens instead.
 */
import { freshness } from '../../../../src/domain/verification';
import { compileScheme } from '../../../../src/signing/webhooks/compile';
import type { WebhookRequest } from '../../../../src/signing/webhooks/request';
import type { WebhookSecret } from '../../../../src/signing/webhooks/secrets';
import { verify } from '../../../../src/signing/webhooks/verify';
import { vendors } from '../../../support/vendors/all';
import { signedAtMs, type Vendor } from '../../../support/vendors/vendor';
import { shippedScheme } from '../fixtures';

export type Check = (vendor: Vendor) => Promise<void>;

/** Why a vendor is another matter, and what is then so. */
export interface Instead {
  readonly because: string;
  readonly check: Check;
}

export function conform(
  mutation: string,
  check: Check,
  instead: (vendor: Vendor) => Instead | null = () => null,
): void {
  describe(mutation, () => {
    for (const vendor of vendors) {
      const other = instead(vendor);
      const title = other === null ? vendor.name : `${vendor.name}: ${other.because}`;
      it(title, () => (other === null ? check(vendor) : other.check(vendor)));
    }
  });
}

interface Judged {
  readonly secrets?: readonly WebhookSecret[];
  readonly receivedAtMs?: number;
}

const compiled = new Map(
  vendors.map(({ scheme }) => [scheme, compileScheme(shippedScheme(scheme))] as const),
);

export function compiledOf({ scheme }: Vendor) {
  const found = compiled.get(scheme);
  if (found === undefined) throw new Error(`no scheme ${scheme} is shipped`);
  return found;
}

export async function judged(vendor: Vendor, request: WebhookRequest, given: Judged = {}) {
  const secrets = given.secrets ?? [{ id: 'current', value: vendor.secrets.own }];
  const { receivedAtMs = signedAtMs } = given;
  return await verify(compiledOf(vendor), request, secrets, { receivedAtMs });
}

/** `accepted`, `stale`, or the reason of the refusal. */
export async function outcome(
  vendor: Vendor,
  request: WebhookRequest,
  given: Judged = {},
): Promise<string> {
  const verdict = await judged(vendor, request, given);
  if (!verdict.ok) return verdict.reason;
  const { signedAtMs: at, limits } = verdict;
  const fresh = at === null || freshness(at, limits, given.receivedAtMs ?? signedAtMs).fresh;
  return fresh ? 'accepted' : 'stale';
}
