/**
 * Supply-chain evidence: publishing statements, the gate before a version becomes active, and what is
 * refused. A real Postgres, the pool of the role waybill_control; statements are signed for real.
 */
import { FleetInvalid } from '../../../src/schemas/fleet/mistakes';
import {
  after,
  ARTIFACT,
  claims,
  evidence,
  jws,
  MANIFEST,
  newSigner,
  stated,
} from '../../support/evidence-texts';
import { capability, connector, fleetOf, tracker } from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';

const { db, apply, refusal, revision } = publishing();

const release = newSigner();
const stranger = newSigner();

const version = (...changes: readonly string[]) =>
  tracker(`artifactDigest: ${ARTIFACT}`, ...changes);
const whole = (...documents: readonly string[]) => fleetOf(capability(), version(), ...documents);
const policy = (...kinds: readonly string[]) =>
  `kind: Settings\nrequiredEvidence: [${kinds.join(', ')}]\n`;
const trust = (signers: string) => `kind: Settings\ntrustedSigners: ${signers}\n`;
const statusOf = async () =>
  (await db().rows<{ status: string }>('select status from waybill.connector_versions'))[0]?.status;
const codeOf = (text: string) =>
  apply(text).then(
    () => 'applied',
    (error: unknown) => (error instanceof FleetInvalid ? error.code : error),
  );

describe('a statement', () => {
  test('is kept with all that it says; the same again is nothing', async () => {
    const fleet = whole(stated(release, 'tracker-sbom', { contentRef: 'oci://x/sbom' }));
    const first = await apply(fleet);
    expect(first.changes.at(-1)).toMatchObject({
      ...{ kind: 'Evidence', id: 'tracker-sbom', action: 'create' },
    });
    const [row] = await db().rows('select * from waybill.evidence_statements');
    expect(row).toMatchObject({
      ...{ evidence_id: 'tracker-sbom', connector_id: 'tracker', version: '1.0.0', kind: 'sbom' },
      ...{ artifact_digest: ARTIFACT, manifest_digest: MANIFEST, content_ref: 'oci://x/sbom' },
      ...{ content_digest: 'c3'.repeat(32), verdict: 'pass', signer: release.x },
    });
    expect(await apply(fleet)).toMatchObject({ changed: false, revision: first.revision });
  });

  test('another one under its id is evidence_immutable', async () => {
    await apply(whole(stated(release, 'tracker-sbom')));
    const other = stated(release, 'tracker-sbom', { verdict: 'fail' });
    expect(await codeOf(other)).toBe('evidence_immutable');
    expect(await refusal(other)).toEqual([
      expect.stringMatching(/^Evidence tracker-sbom statement: .*use another id/),
    ]);
  });

  test('of a version that is nowhere is refused', async () => {
    expect(await refusal(stated(release, 'tracker-sbom'))).toEqual([
      expect.stringContaining('there is no connector tracker 1.0.0'),
    ]);
  });

  test.each([
    ['another artifact', { artifactDigest: 'b2'.repeat(32) }, 'another artifactDigest than'],
    ['another manifest', { manifestDigest: 'b2'.repeat(32) }, 'another manifestDigest than'],
    ['no manifest', { manifestDigest: null }, 'another manifestDigest than'],
    [
      'neither of them',
      { artifactDigest: 'b2'.repeat(32), manifestDigest: null },
      'another artifactDigest and manifestDigest than',
    ],
  ])('of %s is evidence_refused', async (_what, changes, problem) => {
    const fleet = whole(stated(release, 'tracker-sbom', changes));
    expect(await codeOf(fleet)).toBe('evidence_refused');
    expect(await refusal(fleet)).toEqual([expect.stringContaining(problem)]);
  });

  test('of a version without artifactDigest is evidence_refused', async () => {
    const fleet = fleetOf(capability(), tracker(), stated(release, 'tracker-sbom'));
    expect(await codeOf(fleet)).toBe('evidence_refused');
  });

  test('from a clock that is ahead is evidence_refused', async () => {
    const ahead = stated(release, 'tracker-sbom', { issuedAt: after(120_000) });
    expect(await codeOf(whole(ahead))).toBe('evidence_refused');
  });

  test('binds a version without manifest by its artifact alone', async () => {
    const fleet = fleetOf(
      connector(`artifactDigest: ${ARTIFACT}`),
      stated(release, 'hooks', { connector: 'github', manifestDigest: null }),
    );
    expect(await apply(fleet)).toMatchObject({ changed: true });
  });

  test.each([
    ['a signature by another key', jws({ ...release, privateKey: stranger.privateKey }, claims())],
    [
      'claims that were changed afterwards',
      jws(release, claims()).replace(
        /\..*\./,
        `.${Buffer.from(JSON.stringify(claims({ contentRef: 'elsewhere' }))).toString('base64url')}.`,
      ),
    ],
  ])('with %s is evidence_refused', async (_what, statement) => {
    const fleet = whole(evidence('tracker-sbom', statement));
    expect(await codeOf(fleet)).toBe('evidence_refused');
    expect(await refusal(fleet)).toEqual([expect.stringContaining('its signature is not by')]);
  });

  test('of a signer that is not trusted is evidence_refused', async () => {
    const settings = trust(`{ release: ${release.jwk} }`);
    const fleet = whole(settings, stated(stranger, 'tracker-sbom'));
    expect(await codeOf(fleet)).toBe('evidence_refused');
    expect(await refusal(fleet)).toEqual([expect.stringContaining('none of the trustedSigners')]);
    await apply(whole(settings, stated(release, 'tracker-sbom')));
    expect(await codeOf(stated(stranger, 'second'))).toBe('evidence_refused');
    await apply(fleetOf(trust('{}')));
    expect(await codeOf(stated(release, 'second'))).toBe('evidence_refused');
    await apply(fleetOf(trust('null'), stated(stranger, 'second')));
  });

  test('cannot be changed or removed, whoever publishes', async () => {
    await apply(whole(stated(release, 'tracker-sbom')));
    for (const text of [
      `update waybill.evidence_statements set verdict = 'fail'`,
      'delete from waybill.evidence_statements',
    ]) {
      const control = db().as('waybill_control');
      await expect(control.query({ name: 'forge', text }, [])).rejects.toThrow(/permission denied/);
    }
  });
});

test('a policy names kinds that can vouch, and public keys', async () => {
  expect(await refusal(policy('revocation'))).toEqual([
    expect.stringContaining('requiredEvidence[0]: must be one of signature'),
  ]);
  const secret = release.jwk.replace('}', `, d: ${release.x} }`);
  const told = await refusal(trust(`{ release: ${secret} }`));
  expect(told).toEqual([expect.stringMatching(/ trustedSigners\.release\.d: there is no such/)]);
  expect(await refusal(trust('{ release: { kty: OKP, crv: Ed25519, x: AAAA } }'))).toEqual([
    expect.stringContaining('trustedSigners.release.x: write the 32 bytes'),
  ]);
  const [first, same] = [policy('sbom', 'licence', 'sbom'), policy('licence', 'sbom')];
  await apply(first);
  expect(await apply(same)).toMatchObject({ changed: false });
});

describe('a version becomes active', () => {
  test('with all that is required, or not at all', async () => {
    const settings = policy('sbom', 'provenance');
    const sbom = stated(release, 'tracker-sbom');
    const provenance = stated(release, 'tracker-provenance', { kind: 'provenance' });
    expect(await codeOf(whole(settings, sbom))).toBe('evidence_missing');
    expect(await refusal(whole(settings))).toEqual([
      expect.stringMatching(/^Connector tracker@1\.0\.0 status: .*missing: provenance, sbom$/),
    ]);
    expect(await revision()).toBe(0);
    await apply(fleetOf(settings, capability(), version('status: draft'), sbom));
    const activate = fleetOf(version('status: active'));
    expect(await refusal(activate)).toEqual([expect.stringMatching(/missing: provenance$/)]);
    await apply(fleetOf(version('status: active'), provenance));
    expect(await statusOf()).toBe('active');
  });

  test.each([
    ['says fail', [{ verdict: 'fail' }], /missing: sbom \(s0 says fail\)$/],
    [
      'has expired',
      [{ issuedAt: after(-60_000), expiresAt: after(-1) }],
      /missing: sbom \(s0 has expired\)$/,
    ],
    [
      'says fail after an older one that passes',
      [{}, { verdict: 'fail', issuedAt: after(-1000) }],
      /missing: sbom \(s1 says fail\)$/,
    ],
    [
      'says fail at the very instant of one that passes',
      [{ issuedAt: '2026-01-01T00:00:00Z' }, { issuedAt: '2026-01-01T00:00:00Z', verdict: 'fail' }],
      /missing: sbom \(s1 says fail\)$/,
    ],
  ])('not when the statement %s', async (_what, statements, problem) => {
    const documents = statements.map((changes, nth) => stated(release, `s${nth}`, changes));
    const fleet = whole(policy('sbom'), ...documents);
    expect(await refusal(fleet)).toEqual([expect.stringMatching(problem)]);
    // Nor when the statements were there before.
    await apply(fleetOf(policy('sbom'), capability(), version('status: certified'), ...documents));
    expect(await refusal(version('status: active'))).toEqual([expect.stringMatching(problem)]);
  });

  test('when a newer statement passes after one that failed or has expired', async () => {
    await apply(
      whole(
        policy('sbom'),
        stated(release, 's0', { verdict: 'fail' }),
        stated(release, 's1', { issuedAt: after(-50_000), expiresAt: after(-40_000) }),
        stated(release, 's2', { issuedAt: after(-30_000), expiresAt: null }),
      ),
    );
    expect(await statusOf()).toBe('active');
  });

  test('by statements of signers that are trusted in the same file', async () => {
    await apply(fleetOf(capability(), version('status: draft'), stated(stranger, 's0')));
    const settings = `${policy('sbom')}trustedSigners: { release: ${release.jwk} }\n`;
    const activate = fleetOf(settings, version('status: active'));
    expect(await refusal(activate)).toEqual([expect.stringMatching(/missing: sbom$/)]);
    await apply(fleetOf(settings, version('status: active'), stated(release, 's1')));
    expect(await statusOf()).toBe('active');
  });
});

describe('a revocation', () => {
  const revocation = (changes = {}) =>
    stated(release, 'recall', { kind: 'revocation', verdict: 'fail', ...changes });

  test('revokes the version in the same revision, for good', async () => {
    await apply(whole());
    const { changes } = await apply(revocation());
    expect(changes).toEqual([
      expect.objectContaining({
        ...{ kind: 'Connector', id: 'tracker@1.0.0', action: 'update' },
        fields: [{ field: 'status', before: 'active', after: 'revoked' }],
      }),
      expect.objectContaining({ kind: 'Evidence', id: 'recall', action: 'create' }),
    ]);
    expect(await statusOf()).toBe('revoked');
    expect(await codeOf(version('status: active'))).toBe('version_revoked');
    expect(await apply(version())).toMatchObject({ changed: false });
  });

  test.each(['draft', 'certified', 'deprecated'])('revokes one that is %s', async (status) => {
    await apply(fleetOf(capability(), version(`status: ${status}`)));
    await apply(fleetOf(version(), revocation()));
    expect(await statusOf()).toBe('revoked');
  });

  test('beside a file that says otherwise is version_revoked', async () => {
    const fleet = fleetOf(capability(), version('status: active'), revocation());
    expect(await codeOf(fleet)).toBe('version_revoked');
    await apply(fleetOf(capability(), version('status: revoked'), revocation()));
  });

  test('of another artifact or by a stranger revokes nothing', async () => {
    await apply(whole(trust(`{ release: ${release.jwk} }`)));
    for (const text of [
      revocation({ artifactDigest: 'b2'.repeat(32) }),
      stated(stranger, 'recall', { kind: 'revocation', verdict: 'fail' }),
    ]) {
      expect(await codeOf(text)).toBe('evidence_refused');
    }
    expect(await statusOf()).toBe('active');
  });
});
