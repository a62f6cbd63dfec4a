/** Rows of one tenant in every table of routing, made by the product where it can. */
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { tenantId } from '../../src/domain/ids';
import type { TestDatabase } from './test-database';
import { cancelAction } from './test-signer';

/** A connector of the tenant's own, an account with a quota and a rate, a host, and one action that holds a reservation. */
export async function fillRouting(db: TestDatabase, tenant: string): Promise<void> {
  const rig = new Rig(postgresFixture(db));
  const connector = `${tenant}-own`;
  await db.rows(
    `insert into waybill.connectors (connector_id, owner_tenant_id, name, provider)
      values ($1, $2, 'Own', 'own')`,
    [connector, tenant],
  );
  await rig.account({ tenant, instance: 'tracker', connector, quota: 'all' });
  const limits = { binding: 9, instance: 9, connector: 9, tenant_retry: 9, tenant: 9, global: 9 };
  await rig.fixture.change({ quota: { id: 'all', limits } });
  const limit = { permits: 9, perMs: 1_000, burst: 9 };
  await rig.fixture.change({ rate: { connector, limit } });
  await rig.host({ tenant, instance: 'tracker', replica: `${tenant}-host` });
  await rig.reserved('held', { tenantId: tenantId(tenant), affinityKey: 'thread-1' });
  await rig.start('over', tenant);
  await cancelAction(db, tenant, 'over');
  await rig.fixture.bury(tenant, 'over');
  await db.rows(
    `insert into waybill.retired_routes values ($1, 'held', 7, '{}', 1, now(), 'ada', 'moved', '{}')`,
    [tenant],
  );
}

/** A certification on the tenant's instance. */
export async function fillCertification(db: TestDatabase, tenant: string): Promise<void> {
  await db.rows(
    `insert into waybill.certifications (connector_id, version, suite_version, state, tenant_id,
        instance_id, cases, requested_by)
      select connector_id, version, $1, 'running', $1, instance_id, '{}', 'ada'
        from waybill.instances where tenant_id = $1 limit 1`,
    [tenant],
  );
}

/** An approval that is asked for; it needs `fillRouting`. */
export async function fillApproval(db: TestDatabase, tenant: string): Promise<void> {
  await db.rows(
    `insert into waybill.approvals (tenant_id, action_id, request_sha256, state, expires_at)
      select tenant_id, action_id, request_sha256, 'asked', now() from waybill.actions
        where tenant_id = $1 limit 1`,
    [tenant],
  );
}
