/**
 * Evidence and routing: what is required counts at every reservation, by the database's clock and the
 * newest policy. A real Postgres, each part under the role that has it in production.
 */
import { capabilityCatalog } from '../../../src/db/capabilities';
import { tenantId } from '../../../src/domain/ids';
import { after, ARTIFACT, newSigner, stated } from '../../support/evidence-texts';
import { account, binding, capability, fleetOf, replica, tracker } from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';
import { comesUp, reserve as reserveIn } from '../../support/reserving';
import { until } from '../../support/until';

const { db, apply } = publishing();
const signer = newSigner();
const other = newSigner();

const whole = (...documents: readonly string[]) =>
  fleetOf(
    ...[capability(), tracker(`artifactDigest: ${ARTIFACT}`), account(), binding()],
    replica('capacity: 10000'),
    ...documents,
  );
const policy = (...kinds: readonly string[]) =>
  `kind: Settings\nrequiredEvidence: [${kinds.join(', ')}]\n`;

let asked = 0;
const reserve = () => reserveIn(db(), `action-${(asked += 1)}`);
const REFUSED = { kind: 'binding_unavailable', why: 'evidence_expired' };
const seen = () =>
  capabilityCatalog(db().as('waybill_data')).find(tenantId('acme'), 'tickets.create');

test('a statement that expires counts as missing from that instant, without a publication', async () => {
  await apply(whole(policy('sbom'), stated(signer, 's0')));
  await comesUp(db(), 'host-1');
  expect(await reserve()).toMatchObject({ kind: 'reserved' });
  await apply(stated(signer, 's1', { issuedAt: after(-2_000), expiresAt: after(1_000) }));
  const refused = await until('the evidence expires', async () => {
    const answer = await reserve();
    return answer.kind === 'reserved' ? null : answer;
  });
  expect(refused).toEqual(REFUSED);
  expect(await seen()).toBeNull();
  const revived = stated(signer, 's2', { issuedAt: after(-1) });
  await apply(revived);
  expect(await reserve()).toMatchObject({ kind: 'reserved' });
});

test('another policy holds for every version at once, and is taken back as well', async () => {
  await apply(whole(stated(signer, 's0')));
  await comesUp(db(), 'host-1');
  expect(await reserve()).toMatchObject({ kind: 'reserved' });
  await apply(policy('sbom', 'signature'));
  expect(await reserve()).toEqual(REFUSED);
  await apply(policy('sbom'));
  expect(await reserve()).toMatchObject({ kind: 'reserved' });
  const trusting = (of: string) => `kind: Settings\ntrustedSigners: ${of}\n`;
  await apply(trusting(`{ other: ${other.jwk} }`));
  expect(await reserve()).toEqual(REFUSED);
  await apply(trusting(`{ other: ${other.jwk}, release: ${signer.jwk} }`));
  expect(await reserve()).toMatchObject({ kind: 'reserved' });
  await apply(stated(other, 's1', { verdict: 'fail', issuedAt: after(-1) }));
  expect(await reserve()).toEqual(REFUSED);
  await apply(policy());
  expect(await reserve()).toMatchObject({ kind: 'reserved' });
});

test('the shortest of what is required ends it; what is not required does not matter', async () => {
  const statements = [
    stated(signer, 's0', { expiresAt: '2100-01-01T00:00:00Z' }),
    stated(signer, 's1', { kind: 'licence', expiresAt: '2090-01-01T00:00:00.5Z' }),
    stated(signer, 's2', { kind: 'signature', expiresAt: null }),
    stated(signer, 's3', { kind: 'provenance', expiresAt: '2080-01-01T00:00:00Z' }),
  ];
  const ends = async (...kinds: readonly string[]) => {
    await apply(policy(...kinds));
    const [row] = await db().rows<{ until: string }>(
      `select (evidence_until at time zone 'utc')::text as until from waybill.connector_versions`,
    );
    return row?.until;
  };
  await apply(whole(...statements));
  expect(await ends('sbom', 'licence', 'signature')).toBe('2090-01-01 00:00:00.5');
  expect(await ends('signature')).toBe('infinity');
  expect(await ends('signature', 'vulnerability')).toBe('-infinity');
  expect(await ends('sbom')).toBe('2100-01-01 00:00:00');
  expect(await ends()).toBe('infinity');
});

test('a revocation stops routing with its publication', async () => {
  await apply(whole());
  await comesUp(db(), 'host-1');
  await apply(stated(signer, 'recall', { kind: 'revocation', verdict: 'fail' }));
  expect(await reserve()).toEqual({ kind: 'binding_unavailable', why: 'version_not_active' });
});
