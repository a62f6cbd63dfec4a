/**
 * Publishing what routing needs: a real Postgres, the pool of the role waybill_control. Verdicts are
 * read from the tables as administrator.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { capabilityCatalog } from '../../../src/db/capabilities';
import { tenantId } from '../../../src/domain/ids';
import { canonicalJson } from '../../../src/schemas/canonical-json';
import {
  account,
  binding,
  capability,
  fleetOf,
  quotaPolicy,
  replica,
  target,
  tracker,
} from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';

const { db, apply, revision } = publishing();
const ACTION =
  'action: { capability: tickets.create, request: { title: { from: /t } }, affinity: { from: /k } }';
const whole = (): string =>
  fleetOf(
    ...[replica('id: host-2'), replica(), binding('quotaPolicy: small'), account()],
    ...[tracker('rateLimit: { permits: 9, per: 2s, burst: 3 }'), quotaPolicy(), capability()],
    target('http: null', ACTION),
  );
const only = async (table: string) => {
  const rows = await db().rows(`select * from waybill.${table}`);
  expect(rows).toHaveLength(1);
  return rows[0];
};

describe('a publication of what routing needs', () => {
  test('is one revision whatever the order in the file, and nothing the second time', async () => {
    const first = await apply(whole());
    expect(first.revision).toBe(1);
    expect(first.changes.map(({ kind, id, tenant }) => [kind, id, tenant])).toEqual([
      ['Capability', 'tickets.create', undefined],
      ['Connector', 'tracker@1.0.0', undefined],
      ['QuotaPolicy', 'small', undefined],
      ['Instance', 'main', 'acme'],
      ['Binding', 'tickets.create@main', 'acme'],
      ['Replica', 'host-2', 'acme'],
      ['Replica', 'host-1', 'acme'],
      ['Target', 'ci', 'acme'],
    ]);
    expect(await apply(whole())).toEqual({ revision: 1, changed: false, changes: [] });
  });

  test('writes the rows that routing reads', async () => {
    await apply(whole());
    expect(await only('version_capabilities')).toEqual({
      ...{ connector_id: 'tracker', version: '1.0.0', capability_id: 'tickets.create' },
    });
    expect(await only('connector_versions')).toMatchObject({
      manifest_digest: '5f'.repeat(32),
      rate_limit: { permits: 9, perMs: 2000, burst: 3 },
    });
    expect(await only('quota_policies')).toMatchObject({ binding_limit: 2, global_limit: null });
    expect(await only('credential_revisions')).toEqual({
      ...{ tenant_id: 'acme', instance_id: 'main', credential_revision: 'r1', status: 'active' },
    });
    expect(await only('bindings')).toMatchObject({
      ...{ tenant_id: 'acme', capability_id: 'tickets.create', instance_id: 'main', priority: 100 },
      ...{ enabled: true, spill: 'never', spread: false, credential_revision: 'r1' },
      quota_policy_id: 'small',
    });
    const [replicaRow] = await db().rows(
      `select * from waybill.replicas where replica_id = 'host-1'`,
    );
    expect(replicaRow).toMatchObject({
      ...{ tenant_id: 'acme', instance_id: 'main', connector_id: 'tracker', version: '1.0.0' },
      ...{ endpoint: 'http://127.0.0.1:7411', transport_profile: 'http-loopback' },
      ...{ peer_principal_id: 'host-1', peer_principal_kind: 'service', trust_domain: 'acme.test' },
      peer_did: expect.stringMatching(/^did:key:z6Mk/) as string,
      ...{ region: 'eu', zone: 'a', capacity_class: 'standard', capacity: 10, status: 'offline' },
    });
    expect(await only('targets')).toMatchObject({
      kind: 'action',
      config: {
        ...{ capabilityId: 'tickets.create', request: { title: { from: '/t' } } },
        ...{ affinity: { from: '/k' }, timeoutMs: 10_000 },
      },
    });
  });

  test('says how long a call to a host may take, half a minute where the file does not', async () => {
    await apply(fleetOf(capability(), capability('id: tickets.close', 'timeout: 10m')));
    const rows = await db().rows(
      'select capability_id as id, timeout_ms as ms from waybill.capabilities order by 2',
    );
    expect(rows).toEqual([
      { id: 'tickets.create', ms: 30_000 },
      { id: 'tickets.close', ms: 600_000 },
    ]);
    const [change] = (await apply(capability('id: tickets.read', 'timeout: 100ms'))).changes;
    expect(change?.fields).toContainEqual({ field: 'timeoutMs', before: null, after: 100 });
    expect(await apply(capability('timeout: 30s'))).toMatchObject({ changed: false });
  });

  test('gives a tenant the contract with the digest of all of it', async () => {
    await apply(whole());
    const catalog = capabilityCatalog(db().as('waybill_data'));
    const contract = await catalog.find(tenantId('acme'), 'tickets.create');
    if (contract === null) throw new Error('there is no contract');
    const { contractDigest, approvalNeeded, ...content } = contract;
    expect(approvalNeeded).toBe(false);
    expect(content).toMatchObject({ sideEffect: 'shared-write', interfaceName: 'work-items' });
    expect(contractDigest).toBe(createHash('sha256').update(canonicalJson(content)).digest('hex'));
    expect(await catalog.find(tenantId('globex'), 'tickets.create')).toBeNull();
  });

  test('the example of the page is published as it stands', async () => {
    const page = path.join(__dirname, '..', '..', '..', 'docs', 'fleet-file.md');
    const [, example = ''] =
      /```yaml\n(kind: Capability.*?)```/s.exec(readFileSync(page, 'utf8')) ?? [];
    const { changes } = await apply(example);
    expect(new Set(changes.map(({ kind }) => kind)).size).toBe(7);
    expect(await apply(example)).toMatchObject({ revision: 1, changed: false });
  });

  test('what is left out stays: credentials, the version of a replica, other bindings', async () => {
    await apply(whole());
    const second = tracker('version: 2.0.0');
    const moved = account.bind(null, 'configRevision: 2', 'version: 2.0.0');
    await apply(fleetOf(second, moved('credentials: [{ revision: r2 }]'), replica()));
    const text = `select credential_revision || ' ' || status as text
      from waybill.credential_revisions order by 1`;
    expect(await db().rows(text)).toEqual([{ text: 'r1 active' }, { text: 'r2 active' }]);
    await apply(fleetOf(moved('credentials: []'), replica('id: host-3')));
    const replicas = await db().rows<{ text: string }>(
      `select replica_id || ' ' || version as text from waybill.replicas order by 1`,
    );
    expect(replicas.map(({ text: row }) => row)).toEqual([
      ...['host-1 1.0.0', 'host-2 1.0.0', 'host-3 2.0.0'],
    ]);
    expect(await only('bindings')).toBeDefined();
  });

  test('what hosts and routing move is neither compared nor touched', async () => {
    await apply(whole());
    await db().rows(
      `update waybill.replicas set status = 'ready', lease_ends_at = 'infinity', sequence = 7,
        incarnation = 2, active_assignments = 3 where replica_id = 'host-1'`,
    );
    expect(await apply(whole())).toMatchObject({ changed: false });
    const { changes } = await apply(fleetOf(replica('capacity: 4')));
    expect(changes[0]?.fields).toEqual([{ field: 'capacity', before: 10, after: 4 }]);
    const [row] = await db().rows(`select * from waybill.replicas where replica_id = 'host-1'`);
    expect(row).toMatchObject({
      capacity: 4,
      status: 'ready',
      sequence: '7',
      active_assignments: 3,
    });
  });

  test('the settings of routing change field by field', async () => {
    const { changes } = await apply('kind: Settings\nreplicaLease: 20s\ncircuitUnknowns: 2\n');
    expect(changes[0]?.fields).toEqual([
      { field: 'circuitUnknowns', before: 5, after: 2 },
      { field: 'replicaLeaseMs', before: 30_000, after: 20_000 },
    ]);
    expect(await only('settings')).toMatchObject({
      ...{ circuit_unknowns: 2, circuit_open_ms: 30_000, circuit_probes: 2 },
      ...{ replica_lease_ms: 20_000, replica_hysteresis: 3 },
    });
  });

  test('a quota policy without a limit is there to be named', async () => {
    const open = quotaPolicy('limits: {}');
    await apply(fleetOf(whole().replace(quotaPolicy(), open)));
    expect(await only('quota_policies')).toMatchObject({ binding_limit: null });
  });

  test('quota limits and the state of a credential change as they are written', async () => {
    await apply(whole());
    const { changes } = await apply(
      fleetOf(
        quotaPolicy('limits: { tenant: 5 }'),
        account('credentials: [{ revision: r1, status: revoked }]'),
      ),
    );
    expect(changes.flatMap(({ fields }) => fields)).toEqual([
      { field: 'limits.binding', before: 2, after: null },
      { field: 'limits.tenant', before: null, after: 5 },
      { field: 'credentials.r1', before: 'active', after: 'revoked' },
    ]);
    await apply(fleetOf(account('credentials: [{ revision: r1, status: active }]')));
    expect(await only('credential_revisions')).toMatchObject({ status: 'active' });
    expect(await revision()).toBe(3);
  });
});
