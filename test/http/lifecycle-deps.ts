/** The lifecycle part of a server over a test's database. */
import type { LifecycleDeps } from '../../src/http/deps';
import { LIFECYCLE_AUDIENCE } from '../../src/hosts/protocol/lifecycle-calls';
import { routeTokenTrust } from '../../src/hosts/protocol/route-tokens';
import type { SigningKey } from '../../src/signing/keys';
import type { TestDatabase } from '../support/test-database';

/** @param key the one that route tokens are signed with */
export function lifecycleDeps(db: TestDatabase, key: SigningKey): LifecycleDeps {
  const fleet = db.as('waybill_lifecycle');
  return { fleet, audience: LIFECYCLE_AUDIENCE, trust: routeTokenTrust([key]) };
}
