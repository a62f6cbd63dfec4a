/**
 * Publishing fleets: a real Postgres, the pool of the role waybill_control. Verdicts are read from the
 * tables as administrator.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { DEFAULT_RETRY_PROFILE } from '../../src/domain/retry';
import { connector, fleetOf, instance, subscription, target } from '../support/fleet-texts';
import { publishing } from '../support/publishing';

const { db, apply, revision, events } = publishing();
const whole = (): string => fleetOf(connector(), instance(), target(), subscription());

describe('a publication', () => {
  test('the shipped example is one revision, and nothing the second time', async () => {
    const file = path.join(__dirname, '..', '..', 'examples', 'fleet.yaml');
    const text = readFileSync(file, 'utf8');
    const first = await apply(text);
    expect(first).toMatchObject({ revision: 1, changed: true });
    expect(new Set(first.changes.map(({ action }) => action))).toEqual(new Set(['create']));
    // In the order in which one refers to the other.
    expect([...new Set(first.changes.map(({ kind }) => kind))]).toEqual([
      ...['Capability', 'Connector', 'QuotaPolicy', 'Instance', 'Binding', 'Replica'],
      ...['Target', 'Subscription'],
    ]);
    expect(first.changes).toContainEqual(
      expect.objectContaining({ kind: 'Subscription', id: 'pushes', tenant: 'acme' }),
    );
    expect(await apply(text)).toEqual({ revision: 1, changed: false, changes: [] });
    expect(await revision()).toBe(1);
    const audit = await db().rows(
      'select tenant_id, actor, action, subject from waybill.audit_log',
    );
    expect(audit).toEqual([
      { tenant_id: null, actor: 'admin', action: 'publish', subject: 'catalog/1' },
    ]);
  });

  test('tells what became active and which subscriptions changed, in order per aggregate', async () => {
    await apply(whole());
    await apply(fleetOf(subscription('state: paused')));
    await apply(fleetOf(subscription('state: active'), connector('status: deprecated')));
    expect(await events()).toEqual([
      '_platform connector/github/1.0.0 1 connector-activated',
      'acme subscription/pushes 1 connector-subscription-changed true',
      'acme subscription/pushes 2 connector-subscription-changed false',
      '_platform connector/github/1.0.0 2 connector-deprecated',
      'acme subscription/pushes 3 connector-subscription-changed true',
    ]);
  });

  test('shows each field that differs, before and after, and leaves the rest of the catalog alone', async () => {
    await apply(fleetOf(connector(), instance(), target(), target('id: other'), subscription()));
    const changed = await apply(fleetOf(target('http: { url: http://ci.test/b, timeout: 3s }')));
    expect(changed).toEqual({
      revision: 2,
      changed: true,
      changes: [
        {
          ...{ kind: 'Target', id: 'ci', tenant: 'acme', action: 'update' },
          fields: [
            { field: 'http.url', before: 'http://ci.test/', after: 'http://ci.test/b' },
            { field: 'http.timeoutMs', before: 10_000, after: 3_000 },
          ],
        },
      ],
    });
    const rows = await db().rows('select target_id from waybill.targets order by target_id');
    expect(rows).toEqual([{ target_id: 'ci' }, { target_id: 'other' }]);
  });

  test('settings change field by field; the migrated default is the domain default', async () => {
    const [before] = await db().rows('select * from waybill.settings');
    expect(before?.['default_retry']).toEqual(DEFAULT_RETRY_PROFILE);
    const { changes } = await apply(
      'kind: Settings\nreplayWindowMinutes: 90\ndefaultRetry: { attempts: 2, backoff: [1s] }\n',
    );
    expect(changes[0]?.fields.map(({ field, after }) => [field, after])).toEqual([
      ['replayWindowMinutes', 90],
      ['defaultRetry.attempts', 2],
      ['defaultRetry.backoff.kind', 'list'],
      ['defaultRetry.backoff.delaysMs', [1000]],
      ['defaultRetry.backoff.maxMs', null],
      ['defaultRetry.backoff.baseMs', null],
    ]);
    const [after] = await db().rows('select * from waybill.settings');
    expect(after).toMatchObject({ replay_window_minutes: 90, rejected_bytes_minutes: 60 });
  });

  test('of two at once with the same fleet one publishes and the other finds it there', async () => {
    const both = await Promise.all([apply(whole()), apply(whole())]);
    expect(both.map(({ revision }) => revision)).toEqual([1, 1]);
    expect(both.filter(({ changed }) => changed)).toHaveLength(1);
    expect(await events()).toHaveLength(2);
  });

  test('of eight at once with different fleets each is a revision of its own', async () => {
    await apply(whole());
    const fleets = Array.from({ length: 8 }, (_, nth) => fleetOf(target(`id: target-${nth}`)));
    const published = await Promise.all(fleets.map(apply));
    const revisions = published.map(({ revision }) => revision).sort();
    expect(revisions).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test('gives up with publication_busy while another one holds the lock, and writes nothing', async () => {
    const holder = db().as('waybill_operations');
    await holder.transaction(async (run) => {
      const text = `select pg_advisory_xact_lock_shared(hashtextextended('waybill.publication', 0))`;
      await run({ name: 'test_hold', text }, []);
      await expect(apply(whole())).rejects.toMatchObject({ code: 'publication_busy' });
    });
    expect(await revision()).toBe(0);
    expect(await apply(whole())).toMatchObject({ revision: 1 });
  });

  test('a fleet that is there already does not wait for the lock', async () => {
    await apply(whole());
    await db()
      .as('waybill_operations')
      .transaction(async (run) => {
        const text = `select pg_advisory_xact_lock(hashtextextended('waybill.publication', 0))`;
        await run({ name: 'test_hold', text }, []);
        expect(await apply(whole())).toMatchObject({ revision: 1, changed: false });
      });
  });

  test('that fails on its last statement leaves nothing of itself', async () => {
    await db().rows(`create function waybill.refuse() returns trigger language plpgsql
      as $$ begin raise exception 'planted'; end $$`);
    await db().rows(`create trigger planted before insert on waybill.audit_log
      execute function waybill.refuse()`);
    await expect(apply(whole())).rejects.toThrow('planted');
    expect(await revision()).toBe(0);
    expect(await events()).toEqual([]);
    for (const table of ['connectors', 'connector_versions', 'instances', 'targets', 'ingresses']) {
      expect(await db().rows(`select from waybill.${table}`)).toHaveLength(0);
    }
  });
});
