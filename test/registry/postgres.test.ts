/** The registry in a real Postgres, as the roles that Waybill runs as, under the conformance suite. */
import { createTestDatabase } from '../support/test-database';
import { registryConformance } from './conformance';
import { postgresFixture } from './postgres-fixture';

registryConformance(async () => postgresFixture(await createTestDatabase()));
