/**
 * What a publication refuses, and how life-cycle changes take effect: a real Postgres, the pool of the
 * role waybill_control.
 */
import type { FleetInvalid } from '../../../src/schemas/fleet/mistakes';
import { connector, fleetOf, instance, subscription, target } from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';

const { db, apply, refusal, revision, events } = publishing();
const whole = (): string => fleetOf(connector(), instance(), target(), subscription());

describe('a fleet with mistakes publishes nothing', () => {
  test('mistakes of the file and against the catalog are listed together', async () => {
    const text = fleetOf(
      target(),
      subscription('eventTypes: []'),
      subscription('id: others', 'target: nowhere'),
      instance('version: 9.9.9'),
    );
    expect(await refusal(text)).toEqual([
      expect.stringMatching(/^Subscription acme\/pushes eventTypes: name at least one/),
      expect.stringMatching(
        /^Subscription acme\/others target: tenant acme has no target of that id/,
      ),
      expect.stringMatching(
        /^Instance acme\/github version: there is no connector github of version 9/,
      ),
    ]);
    expect(await revision()).toBe(0);
    expect(await db().rows('select from waybill.targets')).toHaveLength(0);
  });

  test('a reference to a document that has mistakes of its own is not called dangling', async () => {
    const text = fleetOf(connector('status: on'), instance(), target('http: {}'), subscription());
    expect(await refusal(text)).toEqual([
      expect.stringMatching(/^Connector github@1.0.0 status: must be one of/),
      expect.stringMatching(/^Target acme\/ci http.url: is missing/),
    ]);
  });

  test('another tenant’s instance and target are not there', async () => {
    await apply(whole());
    expect(await refusal(fleetOf(subscription('tenant: globex', 'ingress: null')))).toEqual([
      expect.stringMatching(/instance: tenant globex has no instance of that id/),
      expect.stringMatching(/target: tenant globex has no target of that id/),
    ]);
  });

  test('a published version never changes, in no field', async () => {
    await apply(whole());
    const slack = connector('webhookScheme: slack', 'retry: { attempts: 2, backoff: [1s] }');
    const error: unknown = await apply(fleetOf(slack)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'version_immutable' });
    const [scheme, retry] = (error as FleetInvalid).mistakes;
    expect(scheme).toMatchObject({ field: 'webhookScheme' });
    expect(scheme?.problem).toMatch(/another .*webhookScheme\.signature\.name/);
    expect(retry).toMatchObject({ field: 'retry' });
    expect(String(error)).toContain('give this one a new version');
    expect(await revision()).toBe(1);
    const next = slack.replace('version: 1.0.0', 'version: 1.1.0');
    expect(await apply(fleetOf(next))).toMatchObject({ revision: 2, changed: true });
  });

  test.each([
    ['active', 'certified', 'cannot go back from active to certified'],
    ['deprecated', 'active', 'cannot go back from deprecated to active'],
    ['draft', 'revoked', 'a draft cannot be revoked'],
  ])('a version does not go from %s to %s', async (from, to, problem) => {
    await apply(fleetOf(connector(`status: ${from}`)));
    expect(await refusal(fleetOf(connector(`status: ${to}`)))).toEqual([
      expect.stringContaining(`Connector github@1.0.0 status: ${problem}`),
    ]);
  });

  test.each([['active'], ['deprecated'], ['draft']])(
    'a revoked version never becomes %s again',
    async (status) => {
      await apply(fleetOf(connector('status: revoked')));
      const text = fleetOf(connector(`status: ${status}`));
      await expect(apply(text)).rejects.toMatchObject({ code: 'version_revoked', status: 409 });
      expect(await refusal(text)).toEqual([
        'Connector github@1.0.0 status: version 1.0.0 was revoked, for good; publish a new version',
      ]);
      expect(await revision()).toBe(1);
    },
  );

  test('name, provider and owner of a connector stay', async () => {
    await apply(fleetOf(connector()));
    const other = connector('name: Hub', 'provider: hub', 'tenant: acme', 'version: 2.0.0');
    expect(await refusal(fleetOf(other))).toEqual([
      expect.stringMatching(/ name: was "GitHub" when connector github was published/),
      expect.stringMatching(/ provider: was "github"/),
      expect.stringMatching(/ tenant: was left out/),
    ]);
  });

  test('a connector of one tenant serves no other', async () => {
    const fleet = fleetOf(connector('tenant: globex'), instance());
    expect(await refusal(fleet)).toEqual([
      'Instance acme/github connector: connector github belongs to tenant globex alone',
    ]);
  });
});

describe('an instance', () => {
  test('keeps its connector, and once revoked stays so', async () => {
    await apply(whole());
    const slack = connector('id: slack', 'webhookScheme: slack');
    expect(await refusal(fleetOf(slack, instance('connector: slack')))).toEqual([
      'Instance acme/github connector: this instance belongs to connector github for good; use another id',
    ]);
    await apply(fleetOf(instance('status: revoked', 'configRevision: 2')));
    expect(await refusal(fleetOf(instance('status: enabled', 'configRevision: 3')))).toEqual([
      expect.stringContaining('status: this instance is revoked for good'),
    ]);
  });

  test('when revoked deactivates its subscriptions and tells of them', async () => {
    await apply(whole());
    const { changes } = await apply(fleetOf(instance('status: revoked', 'configRevision: 2')));
    expect(changes.map(({ kind, id, fields }) => [kind, id, fields[0]?.after])).toEqual([
      ['Instance', 'github', 'revoked'],
      ['Subscription', 'pushes', 'deactivated'],
    ]);
    expect((await events()).at(-1)).toBe(
      'acme subscription/pushes 2 connector-subscription-changed false',
    );
    expect(await refusal(fleetOf(subscription('state: active')))).toEqual([
      'Subscription acme/pushes state: must be deactivated: its instance is revoked',
    ]);
  });

  test('with subscriptions moves to active versions that receive, and keeps the grant', async () => {
    await apply(whole());
    await apply(
      fleetOf(
        connector('version: 2.0.0', 'status: draft'),
        connector('version: 3.0.0', 'webhookScheme: null'),
        connector('version: 4.0.0', 'status: revoked'),
        connector('version: 5.0.0'),
      ),
    );
    expect(await refusal(fleetOf(instance('version: 2.0.0', 'configRevision: 2')))).toEqual([
      expect.stringContaining('version: this version is draft, and the instance has subscriptions'),
    ]);
    expect(await refusal(fleetOf(instance('version: 3.0.0', 'configRevision: 2')))).toEqual([
      expect.stringContaining('version: this version has no webhookScheme'),
    ]);
    expect(await refusal(fleetOf(instance('version: 4.0.0', 'configRevision: 2')))).toEqual([
      expect.stringContaining('version: this version is revoked'),
    ]);
    expect(await refusal(fleetOf(instance('grants: []', 'configRevision: 2')))).toEqual([
      expect.stringContaining('grants: must keep source or tool'),
    ]);
    const other = instance('version: 5.0.0', 'grants: [tool]', 'configRevision: 2');
    expect(await apply(fleetOf(other))).toMatchObject({ changed: true });
  });
});

describe('a subscription', () => {
  test('needs an enabled instance that grants source or tool, on an active version', async () => {
    const fleet = (...parts: string[]) => fleetOf(...parts, target(), subscription());
    expect(await refusal(fleet(connector(), instance('grants: []')))).toEqual([
      'Subscription acme/pushes instance: this instance grants neither source nor tool; add one of them to its grants',
    ]);
    expect(await refusal(fleet(connector(), instance('status: disabled')))).toEqual([
      'Subscription acme/pushes instance: this instance is disabled; enable it',
    ]);
    expect(await refusal(fleet(connector('status: certified'), instance()))).toEqual([
      expect.stringContaining('instance: its connector github 1.0.0 is certified; only an active'),
    ]);
    expect(await refusal(fleet(connector('webhookScheme: null'), instance()))).toEqual([
      expect.stringContaining('ingress: its connector github 1.0.0 has no webhookScheme'),
    ]);
  });

  test('that runs may stay on a deprecated version and change there, a new one may not come', async () => {
    await apply(whole());
    await apply(fleetOf(connector('status: deprecated')));
    const change = subscription('eventTypes: [push, ping]');
    expect(await apply(fleetOf(change))).toMatchObject({ changed: true });
    const second = subscription('id: second', 'ingress: null');
    expect(await refusal(fleetOf(second))).toEqual([
      expect.stringContaining('github 1.0.0 is deprecated; only an active version takes new'),
    ]);
    await apply(fleetOf(subscription('state: deactivated')));
    expect(await refusal(fleetOf(subscription('state: active')))).toEqual([
      expect.stringContaining('is deprecated'),
    ]);
  });

  test('that was deactivated takes on again by state: active alone', async () => {
    await apply(whole());
    await apply(fleetOf(subscription('state: deactivated')));
    expect(await apply(whole())).toMatchObject({ changed: false });
    const { changes } = await apply(fleetOf(subscription('state: active')));
    expect(changes[0]?.fields).toEqual([
      { field: 'state', before: 'deactivated', after: 'active' },
    ]);
  });

  test('that Waybill paused shows as a difference and is resumed by state: active alone', async () => {
    await apply(whole());
    await db().rows(
      `update waybill.subscriptions set state = 'paused', pause_reason = 'target_gone'`,
    );
    expect(await apply(whole())).toMatchObject({ changed: false });
    const { changes } = await apply(fleetOf(subscription('state: active')));
    expect(changes[0]?.fields).toEqual([
      { field: 'state', before: 'paused', after: 'active' },
      { field: 'pauseReason', before: 'target_gone', after: null },
    ]);
    const rows = await db().rows('select state, pause_reason from waybill.subscriptions');
    expect(rows).toEqual([{ state: 'active', pause_reason: null }]);
  });

  test('keeps the reason of a pause that the file repeats', async () => {
    await apply(whole());
    await db().rows(
      `update waybill.subscriptions set state = 'paused', pause_reason = 'target_gone'`,
    );
    expect(await apply(fleetOf(subscription('state: paused')))).toMatchObject({ changed: false });
  });

  test('has an ingress reference that nobody else has, over all tenants', async () => {
    await apply(whole());
    const tenant = 'tenant: globex';
    const other = fleetOf(instance(tenant), target(tenant), subscription(tenant));
    expect(await refusal(other)).toEqual([
      'Subscription globex/pushes ingress.ref: is taken by subscription pushes of tenant acme; choose another one',
    ]);
  });

  test('can exchange ingress references with another one in one file', async () => {
    const pair = (first: string, second: string) => [
      subscription('id: first', ingress(first)),
      subscription('id: second', ingress(second)),
    ];
    await apply(fleetOf(connector(), instance(), target(), ...pair('reference-a', 'reference-b')));
    await apply(fleetOf(...pair('reference-b', 'reference-a')));
    await apply(fleetOf(...pair('reference-c', 'reference-b')));
    const rows = await db().rows<{ text: string }>(
      `select subscription_id || ' ' || ingress_ref as text from waybill.ingresses order by 1`,
    );
    expect(rows.map(({ text }) => text)).toEqual(['first reference-c', 'second reference-b']);
  });

  test('does not lose its ingress by leaving it out', async () => {
    await apply(whole());
    expect(await refusal(fleetOf(subscription('ingress: null')))).toEqual([
      expect.stringContaining('ingress: is published and cannot be taken away by leaving it out'),
    ]);
  });

  function ingress(ref: string): string {
    return `ingress: { ref: ${ref}, secrets: [{ id: current, ref: env:SECRET }] }`;
  }
});
