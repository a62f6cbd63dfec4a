/**
 * Two publications at once that contradict each other: whichever comes first holds, and the other one is
 * refused as if it had come a day later, with the same code. A real Postgres, the pool of the role
 * waybill_control; which of the two comes first is up to their locks.
 */
import { WaybillError } from '../../../src/domain/errors';
import { ARTIFACT, newSigner, stated } from '../../support/evidence-texts';
import {
  account,
  binding,
  capability,
  fleetOf,
  quotaPolicy,
  replica,
  tracker,
} from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';

const { apply, revision } = publishing();

const signer = newSigner();
const vouched = (...changes: string[]) => tracker(`artifactDigest: ${ARTIFACT}`, ...changes);
const base = fleetOf(capability(), tracker(), account(), account('id: second'), quotaPolicy());

const CONTRADICTIONS: readonly (readonly [
  what: string,
  before: string,
  pair: readonly [string, string],
  code: string,
])[] = [
  [
    'two contracts of one capability',
    capability('id: other'),
    [capability('recovery: none'), capability('sideEffect: read')],
    'capability_immutable',
  ],
  [
    'two contents of one version',
    capability(),
    [tracker('profiles: [a]'), tracker('profiles: [b]')],
    'version_immutable',
  ],
  [
    'one policy revision of a binding',
    fleetOf(base, binding()),
    [binding('priority: 1', 'policyRevision: 2'), binding('priority: 2', 'policyRevision: 2')],
    'revision_not_newer',
  ],
  [
    'a first revision of a binding',
    base,
    [binding('priority: 1'), binding('priority: 2')],
    'revision_not_newer',
  ],
  [
    'one configuration revision of an instance',
    base,
    [
      account('config: { a: 1 }', 'configRevision: 2'),
      account('config: { a: 2 }', 'configRevision: 2'),
    ],
    'revision_not_newer',
  ],
  [
    'two addresses of one replica',
    base,
    [replica(), replica('endpoint: http://127.0.0.1:7412')],
    'replica_immutable',
  ],
  [
    'two statements under one id',
    fleetOf(capability(), vouched()),
    [stated(signer, 's0'), stated(signer, 's0', { contentRef: 'oci://x/sbom' })],
    'evidence_immutable',
  ],
  ['two accounts at one priority', base, [binding(), binding('instance: second')], 'fleet_invalid'],
];

test.each(CONTRADICTIONS)(
  '%s: one holds, the other is refused',
  async (_what, before, pair, code) => {
    await apply(before);
    const first = await revision();
    const both = await Promise.allSettled(pair.map(apply));
    const refused = both.flatMap((one) =>
      one.status === 'rejected' ? [one.reason as unknown] : [],
    );
    expect(refused).toMatchObject([{ code }]);
    expect(refused[0]).toBeInstanceOf(WaybillError);
    expect(await revision()).toBe(first + 1);
    // The one that holds is there, the other one still is not.
    const again = await Promise.allSettled(pair.map(apply));
    expect(again.map(({ status }) => status)).toEqual(both.map(({ status }) => status));
    expect(await revision()).toBe(first + 1);
  },
);

test('a revocation and an activation at once: whatever the order, it is revoked for good', async () => {
  await apply(fleetOf(capability(), tracker('status: certified')));
  const both = await Promise.allSettled([
    apply(tracker('status: revoked')),
    apply(tracker('status: active')),
  ]);
  expect(both[0].status).toBe('fulfilled');
  if (both[1].status === 'rejected') {
    expect(both[1].reason).toMatchObject({ code: 'version_revoked' });
  }
  await expect(apply(tracker('status: active'))).rejects.toMatchObject({ code: 'version_revoked' });
});
