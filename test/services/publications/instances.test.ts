/**
 * What an instance and a connector may become: configuration by newer revisions only, credentials and
 * the enabled flag by themselves. A real Postgres, the pool of the role waybill_control.
 */
import {
  account,
  binding,
  capability,
  connector,
  fleetOf,
  instance,
  tracker,
} from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';

const { db, apply, refusal, revision } = publishing();
const codeOf = async (text: string): Promise<unknown> => {
  const error: unknown = await apply(text).catch((reason: unknown) => reason);
  return (error as { code?: unknown }).code;
};
const rowOf = async () =>
  (
    await db().rows(
      `select config, secret_ref, config_revision::integer, version, status, grants
        from waybill.instances where instance_id = 'main'`,
    )
  )[0];

describe('an instance', () => {
  const versions = () => fleetOf(capability(), tracker(), tracker('version: 2.0.0'));
  const bound = () => fleetOf(versions(), account());

  test('has no configuration unless the file says so, and is revision 1', async () => {
    await apply(bound());
    expect(await rowOf()).toEqual({
      ...{ config: null, secret_ref: null, config_revision: 1 },
      ...{ version: '1.0.0', status: 'enabled', grants: ['tool'] },
    });
  });

  test.each([
    ['version', 'version: 2.0.0', 'version'],
    ['status', 'status: disabled', 'status'],
    ['grants', 'grants: [source, tool]', 'grants'],
    ['config', 'config: { region: eu, limits: { batch: 5 } }', 'config.region, config.limits'],
    ['an empty config', 'config: {}', 'config'],
    ['secretRef', 'secretRef: file:accounts/main', 'secretRef'],
  ])('changes its %s with a newer revision only', async (_what, change, named) => {
    await apply(fleetOf(versions(), account('configRevision: 4')));
    const older = await refusal(account(change, 'configRevision: 3'));
    expect(older).toEqual([expect.stringContaining('configRevision: is published as revision 4')]);
    expect(older[0]).toContain(named);
    expect(await codeOf(account(change, 'configRevision: 3'))).toBe('revision_not_newer');
    expect(await codeOf(account(change, 'configRevision: 4'))).toBe('revision_not_newer');
    expect(await revision()).toBe(1);
    expect(await apply(account(change, 'configRevision: 5'))).toMatchObject({ revision: 2 });
    expect(await rowOf()).toMatchObject({ config_revision: 5 });
  });

  test('of an older file is refused, whatever else the file leaves alone', async () => {
    await apply(bound());
    await apply(account('configRevision: 2', 'config: { a: 1 }'));
    expect(await codeOf(account())).toBe('revision_not_newer');
    expect(await rowOf()).toMatchObject({ config: { a: 1 }, config_revision: 2 });
  });

  test('shows its configuration field by field, and the file left out takes it away', async () => {
    await apply(bound());
    const { changes } = await apply(
      account('configRevision: 2', 'config: { a: { b: [1] } }', 'secretRef: env:MAIN'),
    );
    expect(changes).toEqual([
      expect.objectContaining({
        ...{ kind: 'Instance', id: 'main', tenant: 'acme', action: 'update' },
        fields: expect.arrayContaining([
          { field: 'config.a.b', before: null, after: [1] },
          { field: 'secretRef', before: null, after: 'env:MAIN' },
          { field: 'configRevision', before: 1, after: 2 },
        ]) as unknown,
      }),
    ]);
    await apply(account('configRevision: 3'));
    expect(await rowOf()).toMatchObject({ config: null, secret_ref: null, config_revision: 3 });
  });

  test('has credentials that come and go by themselves', async () => {
    await apply(fleetOf(bound(), binding()));
    const revoked = account('credentials: [{ revision: r1, status: revoked }, { revision: r2 }]');
    expect(await apply(revoked)).toMatchObject({ changed: true });
    expect(await rowOf()).toMatchObject({ config_revision: 1 });
  });

  test.each([
    [
      'a secret in the place of its reference',
      'secretRef: hunter2',
      'secretRef: write a reference',
    ],
    ['a list as configuration', 'config: [1]', 'config: must be a group of fields'],
    ['a number that JSON lacks', 'config: { a: .nan }', 'config.a: JSON has no such number'],
    [
      'more than fits',
      `config: { a: "${'x'.repeat(64 * 1024)}" }`,
      'config: must be at most 64 KiB of JSON',
    ],
    [
      'a name that readers of rows leave out',
      'config: { a: { __proto__: 1 } }',
      'config.a: a name in it is __proto__',
    ],
    ['a revision of 0', 'configRevision: 0', 'configRevision: '],
  ])('with %s is refused', async (_what, change, problem) => {
    const found = await refusal(fleetOf(capability(), tracker(), account(change)));
    expect(found).toEqual([expect.stringContaining(`Instance acme/main ${problem}`)]);
    expect(found.join()).not.toContain('hunter2');
  });

  test('has at most a thousand credentials over time', async () => {
    const some = (from: number, count: number) =>
      `credentials: [${Array.from({ length: count }, (_, nth) => `{ revision: r${from + nth} }`).join(', ')}]`;
    await apply(fleetOf(capability(), tracker(), account(some(0, 999))));
    expect(await refusal(account(some(999, 2)))).toEqual([
      expect.stringContaining('credentials: an instance has at most 1000 of them'),
    ]);
    expect(await apply(account(some(999, 1)))).toMatchObject({ changed: true });
  });
});

describe('a connector', () => {
  const enabled = async () =>
    (await db().rows<{ enabled: boolean }>('select enabled from waybill.connectors')).map(
      (row) => row.enabled,
    );

  test('is enabled until the file says otherwise, which no version changes', async () => {
    await apply(fleetOf(connector(), instance()));
    expect(await enabled()).toEqual([true]);
    const { changes } = await apply(connector('enabled: false'));
    expect(changes).toEqual([
      {
        ...{ kind: 'Connector', id: 'github', action: 'update' },
        fields: [{ field: 'enabled', before: true, after: false }],
      },
    ]);
    // What is left out stays, also beside a new version.
    expect(await apply(connector())).toMatchObject({ changed: false });
    await apply(connector('version: 2.0.0'));
    expect(await enabled()).toEqual([false]);
    await apply(fleetOf(connector('enabled: true'), connector('version: 2.0.0')));
    expect(await enabled()).toEqual([true]);
  });

  test('may begin disabled, and is so in all of its versions', async () => {
    const both = fleetOf(connector('version: 2.0.0'), connector('enabled: false'));
    expect((await apply(both)).changes.map(({ id, action }) => `${action} ${id}`)).toEqual([
      ...['create github@2.0.0', 'create github@1.0.0'],
    ]);
    expect(await enabled()).toEqual([false]);
    const divided = fleetOf(
      connector('enabled: true'),
      connector('version: 2.0.0', 'enabled: false'),
    );
    expect(await refusal(divided)).toEqual([
      'Connector github@2.0.0 enabled: must be the same as in Connector github@1.0.0 (document 1)',
    ]);
  });
});
