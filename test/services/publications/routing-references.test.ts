/**
 * What a publication refuses of capabilities, bindings, replicas and targets of actions: a real
 * Postgres, the pool of the role waybill_control.
 */
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

const { db, apply, refusal, revision } = publishing();
const bound = (): string => fleetOf(capability(), tracker(), account(), binding());
const other = (...changes: string[]): string =>
  binding('capability: tickets.close', 'policyRevision: 2', ...changes);
/** The code of a refusal that changed nothing. */
const codeOf = async (text: string): Promise<unknown> => {
  const before = await revision();
  const error: unknown = await apply(text).catch((reason: unknown) => reason);
  expect(await revision()).toBe(before);
  return (error as { code?: unknown }).code;
};

describe('a capability', () => {
  test('keeps its contract for ever, in every field', async () => {
    await apply(bound());
    const changed = capability(
      ...['recovery: none', 'resultSchema: { type: array }', 'interface: ops', 'timeout: 29s'],
    );
    const error: unknown = await apply(changed).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'capability_immutable', status: 409 });
    expect(await refusal(changed)).toEqual([
      expect.stringMatching(/^Capability tickets\.create interface: .* under another id$/),
      expect.stringMatching(/^Capability tickets\.create recovery: /),
      expect.stringMatching(/^Capability tickets\.create resultSchema: /),
      expect.stringMatching(/^Capability tickets\.create timeout: .* under another id$/),
    ]);
    expect(await revision()).toBe(1);
  });

  test.each([
    ['a group that is empty', 'resultSchema: { type: object, properties: {} }'],
    ['a name with a dot', "requestSchema: { type: object, 'properties.title.type': string }"],
  ])('differs in %s, too', async (_name, change) => {
    const first = 'requestSchema: { type: object, properties: { title: { type: string } } }';
    await apply(fleetOf(capability(first)));
    expect(await codeOf(capability(first, change))).toBe('capability_immutable');
  });

  test('is the same whatever the order of its fields and the marks of its schema', async () => {
    await apply(bound());
    const same = capability(
      'requestSchema: { "required": ["title"], properties: { title: { type: "string" } }, type: object }',
    );
    expect(await apply(same)).toMatchObject({ changed: false });
  });

  test('that nobody published is named by whoever refers to it', async () => {
    const text = fleetOf(
      ...[tracker('capabilities: [tickets.close]'), account()],
      ...[other('quotaPolicy: large'), target('http: null', 'action: { capability: no.such }')],
    );
    expect(await refusal(text)).toEqual([
      'Connector tracker@1.0.0 capabilities: there is no capability tickets.close, neither in this file nor in the catalog',
      'Binding acme/tickets.close@main capability: there is no capability tickets.close, neither in this file nor in the catalog',
      'Binding acme/tickets.close@main quotaPolicy: there is no quota policy large, neither in this file nor in the catalog',
      'Target acme/ci action.capability: there is no capability no.such, neither in this file nor in the catalog',
    ]);
  });

  test('with mistakes of its own is not called missing', async () => {
    const text = fleetOf(
      ...[capability('recovery: luck'), quotaPolicy('limits: none'), tracker(), account()],
      ...[
        binding('quotaPolicy: small'),
        target('http: null', 'action: { capability: tickets.create }'),
      ],
    );
    expect(await refusal(text)).toEqual([
      expect.stringMatching(/^Capability tickets\.create recovery: must be one of/),
      expect.stringMatching(/^QuotaPolicy small limits: /),
    ]);
  });
});

describe('a version', () => {
  test.each([
    ['manifestDigest', `manifestDigest: ${'6f'.repeat(32)}`],
    ['capabilities', 'capabilities: []'],
    ['rateLimit', 'rateLimit: { permits: 1, per: 1s, burst: 1 }'],
  ])('never changes its %s', async (field, change) => {
    await apply(bound());
    expect(await codeOf(tracker(change))).toBe('version_immutable');
    expect(await refusal(tracker(change))).toEqual([
      expect.stringMatching(
        new RegExp(`^Connector tracker@1\\.0\\.0 ${field}: version 1\\.0\\.0 was`),
      ),
    ]);
  });
});

describe('a binding', () => {
  test('changes with a higher policy revision only, forward in time', async () => {
    await apply(fleetOf(bound(), quotaPolicy()));
    for (const change of ['priority: 5', 'spread: true', 'enabled: false', 'quotaPolicy: small']) {
      expect(await codeOf(binding(change))).toBe('revision_not_newer');
    }
    expect(await refusal(binding('priority: 5', 'spill: capacity'))).toEqual([
      'Binding acme/tickets.create@main policyRevision: is published as revision 1 with another priority, spill; a change needs a higher one',
    ]);
    await apply(binding('priority: 5', 'policyRevision: 3'));
    expect(await codeOf(binding('policyRevision: 2'))).toBe('revision_not_newer');
    const [row] = await db().rows('select priority, policy_revision from waybill.bindings');
    expect(row).toEqual({ priority: 5, policy_revision: '3' });
    expect(await apply(binding('priority: 5', 'policyRevision: 3'))).toMatchObject({
      changed: false,
    });
  });

  test('needs an enabled instance that grants tool, on an active version that offers it', async () => {
    const fleet = (...parts: string[]) => fleetOf(capability(), ...parts, binding());
    expect(await refusal(fleet(tracker(), account('grants: [source]')))).toEqual([
      'Binding acme/tickets.create@main instance: this instance does not grant tool; add it to its grants',
    ]);
    expect(await refusal(fleet(tracker(), account('status: disabled')))).toEqual([
      'Binding acme/tickets.create@main instance: this instance is disabled; enable it',
    ]);
    expect(await refusal(fleet(tracker('capabilities: []'), account()))).toEqual([
      'Binding acme/tickets.create@main capability: its connector tracker 1.0.0 does not offer tickets.create',
    ]);
    expect(await refusal(fleet(tracker('status: deprecated'), account()))).toEqual([
      expect.stringMatching(
        /instance: its connector tracker 1\.0\.0 is deprecated; only an active/,
      ),
    ]);
    expect(await refusal(fleetOf(capability(), tracker(), binding()))).toEqual([
      expect.stringMatching(/instance: tenant acme has no instance of that id/),
    ]);
  });

  test('that serves may stay on a deprecated version and change there', async () => {
    await apply(bound());
    await apply(tracker('status: deprecated'));
    await apply(binding('priority: 5', 'policyRevision: 2'));
    await apply(binding('enabled: false', 'policyRevision: 3'));
    expect(await refusal(binding('policyRevision: 4'))).toEqual([
      expect.stringMatching(/ is deprecated; only an active version takes new bindings$/),
    ]);
  });

  test('names a credential of its instance, an active one when it begins to use it', async () => {
    await apply(bound());
    expect(await refusal(binding('credentialRevision: r9', 'policyRevision: 2'))).toEqual([
      'Binding acme/tickets.create@main credentialRevision: instance main has no credential of that revision; add it there',
    ]);
    const revoked = account(
      'credentials: [{ revision: r1, status: revoked }, { revision: r2, status: revoked }]',
    );
    // Revoking closes what uses it and needs no change of the binding.
    await apply(fleetOf(revoked, binding()));
    expect(await refusal(binding('credentialRevision: r2', 'policyRevision: 2'))).toEqual([
      expect.stringMatching(/credentialRevision: this revision is revoked; name an active one$/),
    ]);
    // Restoring is one publication.
    const restored = account('credentials: [{ revision: r3 }]');
    await apply(fleetOf(restored, binding('credentialRevision: r3', 'policyRevision: 2')));
    expect(await revision()).toBe(3);
  });

  test.each([['constructor'], ['r1.x']])('does not find the credential %s', async (name) => {
    expect(await refusal(fleetOf(bound(), binding(`credentialRevision: ${name}`)))).toEqual([
      expect.stringMatching(/instance: is taken by/),
      expect.stringMatching(/has no credential of that revision/),
    ]);
  });

  describe('beside another account', () => {
    const second = (...changes: string[]) => binding('instance: second', ...changes);
    const accounts = () => fleetOf(bound(), account('id: second'));
    const CLASH =
      'the same priority for tickets.create; give them different ones, or say spread: true in each of these bindings';

    test('at its priority is refused unless each of them says spread', async () => {
      expect(await refusal(fleetOf(accounts(), second()))).toEqual([
        `Binding acme/tickets.create@main priority: instance second has ${CLASH}`,
        `Binding acme/tickets.create@second priority: instance main has ${CLASH}`,
      ]);
      await apply(accounts());
      expect(await refusal(second('spread: true'))).toEqual([
        `Binding acme/tickets.create@second priority: instance main has ${CLASH}`,
      ]);
      const spreads = binding('spread: true', 'policyRevision: 2');
      expect(await apply(fleetOf(spreads, second('spread: true')))).toMatchObject({ revision: 2 });
      expect(await refusal(second('policyRevision: 2'))).toEqual([
        `Binding acme/tickets.create@second priority: instance main has ${CLASH}`,
      ]);
    });

    test('of another priority, tenant or capability, or disabled, is no matter', async () => {
      await apply(accounts());
      await apply(second('priority: 200'));
      await apply(second('enabled: false', 'policyRevision: 2'));
      const globex = 'tenant: globex';
      await apply(fleetOf(account(globex), binding(globex)));
      expect(await refusal(second('policyRevision: 3'))).toHaveLength(1);
    });
  });
});

describe('an instance with bindings', () => {
  test('moves to active versions that offer what is bound, and keeps the grant', async () => {
    await apply(bound());
    await apply(
      fleetOf(
        tracker('version: 2.0.0', 'capabilities: []'),
        tracker('version: 3.0.0', 'status: draft'),
        tracker('version: 4.0.0'),
      ),
    );
    expect(await refusal(account('configRevision: 2', 'version: 2.0.0'))).toEqual([
      'Instance acme/main version: this version does not offer tickets.create, which the instance is bound to; disable the binding first',
    ]);
    expect(await refusal(account('configRevision: 2', 'version: 3.0.0'))).toEqual([
      expect.stringMatching(/version: this version is draft, and the instance has bindings/),
    ]);
    expect(await refusal(account('configRevision: 2', 'grants: [source]'))).toEqual([
      expect.stringMatching(/grants: must keep tool while the instance has bindings/),
    ]);
    expect(await apply(account('configRevision: 2', 'version: 4.0.0'))).toMatchObject({
      changed: true,
    });
    const disabled = binding('enabled: false', 'policyRevision: 2');
    const moved = fleetOf(account('configRevision: 3', 'version: 2.0.0', 'grants: []'), disabled);
    expect(await apply(moved)).toMatchObject({ changed: true });
  });
});

describe('a replica', () => {
  test.each([
    ['version', 'version: 2.0.0'],
    ['endpoint', 'endpoint: http://127.0.0.1:7499'],
    ['peer.did', 'peer: { did: did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp }'],
    ['trustDomain', 'trustDomain: other'],
    ['region', 'region: us'],
    ['zone', 'zone: b'],
    ['capacityClass', 'capacityClass: large'],
    ['instance', 'instance: second'],
  ])('keeps its %s', async (field, change) => {
    await apply(fleetOf(bound(), account('id: second'), tracker('version: 2.0.0'), replica()));
    expect(await codeOf(replica(change))).toBe('replica_immutable');
    expect(await refusal(replica(change))).toEqual([
      `Replica acme/host-1 ${field}: was published otherwise and stays so; provision another replica`,
    ]);
  });

  test('needs an instance of its tenant, a version of its connector and an id of its own', async () => {
    await apply(fleetOf(bound(), replica()));
    expect(await refusal(replica('id: host-2', 'instance: nowhere'))).toEqual([
      expect.stringMatching(/instance: tenant acme has no instance of that id/),
    ]);
    expect(await refusal(replica('id: host-2', 'version: 9.0.0'))).toEqual([
      expect.stringMatching(/version: there is no connector tracker of version 9\.0\.0/),
    ]);
    const globex = 'tenant: globex';
    expect(await refusal(fleetOf(account(globex), replica(globex)))).toEqual([
      'Replica globex/host-1 id: is taken by a replica of another tenant; choose another one',
    ]);
    await apply(fleetOf(tracker('version: 2.0.0', 'status: revoked')));
    expect(await refusal(replica('id: host-2', 'version: 2.0.0'))).toEqual([
      expect.stringMatching(/version: version 2\.0\.0 is revoked/),
    ]);
    await apply(account('configRevision: 2', 'status: revoked'));
    expect(await refusal(replica('id: host-2'))).toEqual([
      expect.stringMatching(/instance: this instance is revoked/),
    ]);
    expect(await apply(replica('capacity: 0'))).toMatchObject({ changed: true });
  });
});

describe('a target', () => {
  test('keeps its kind, and may change within it', async () => {
    const action = 'action: { capability: tickets.create }';
    await apply(fleetOf(capability(), target(), target('id: open', 'http: null', action)));
    expect(await refusal(target('http: null', action))).toEqual([
      'Target acme/ci action: this target is of the kind http for good; use another id',
    ]);
    expect(await refusal(target('id: open'))).toEqual([
      'Target acme/open http: this target is of the kind action for good; use another id',
    ]);
    const changed = 'action: { capability: tickets.create, affinity: { from: /k } }';
    const { changes } = await apply(target('id: open', 'http: null', changed));
    expect(changes[0]?.fields.map(({ field }) => field)).toContain('action.affinity.from');
  });
});
