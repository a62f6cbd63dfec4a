/**
 * Connector versions as descriptors: every step between their states, what becomes of a changed
 * adapter, forms and the configurations of instances, and the events. A real Postgres, the pool of the
 * role waybill_control.
 */
import { CONNECTOR_STATUSES, CONNECTOR_TRANSITIONS } from '../../../src/domain/connector-states';
import { capability, connector, fleetOf, instance, tracker } from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';

const { db, apply, refusal } = publishing();

test('every step between two states is taken or refused as the table of states says', async () => {
  for (const from of CONNECTOR_STATUSES) {
    for (const to of CONNECTOR_STATUSES) {
      const id = `id: ${from}-${to}`;
      await apply(fleetOf(connector(id, `status: ${from}`)));
      const step = apply(fleetOf(connector(id, `status: ${to}`)));
      if (from === to || CONNECTOR_TRANSITIONS[from].includes(to)) {
        expect([id, await step]).toMatchObject([id, { changed: from !== to }]);
        continue;
      }
      const code = from === 'revoked' ? 'version_revoked' : 'fleet_invalid';
      await expect(step).rejects.toMatchObject({ code, mistakes: [{ field: 'status' }] });
    }
  }
});

test('a version that was certified meanwhile stays so where the file leaves its status out', async () => {
  await apply(fleetOf(connector('status: draft')));
  await db().rows(`update waybill.connector_versions set status = 'certified'`);
  expect(await apply(fleetOf(connector()))).toMatchObject({ changed: false });
  expect(await refusal(fleetOf(connector('status: draft')))).toEqual([
    expect.stringMatching(
      /cannot go back from certified to draft; leave the status out, or publish/,
    ),
  ]);
});

test('another adapter is another version, which has to be certified anew', async () => {
  const adapter = (version: string) =>
    `adapterRef: { kind: host, name: tracker-host, version: ${version} }`;
  await apply(fleetOf(capability(), tracker(adapter('1.4.0'), 'releaseId: pack-7')));
  expect(await refusal(fleetOf(tracker(adapter('1.5.0'), 'releaseId: pack-7')))).toEqual([
    expect.stringMatching(/adapterRef.version: version 1.0.0 was published with another/),
  ]);
  const settings = 'kind: Settings\nrequiredEvidence: [conformance]\n';
  const next = tracker(adapter('1.5.0'), 'version: 1.1.0', `artifactDigest: ${'a'.repeat(64)}`);
  expect(await refusal(fleetOf(settings, next))).toEqual([
    expect.stringMatching(/version 1.1.0 cannot become active without .*missing: conformance$/),
  ]);
  expect(await refusal(fleetOf(settings, `${next}status: certified\n`))).toEqual([
    expect.stringMatching(/version 1.1.0 cannot become certified without .*missing: conformance$/),
  ]);
  expect(await apply(fleetOf(settings, `${next}status: draft\n`))).toMatchObject({ changed: true });
  const rows = await db().rows(
    `select adapter_ref, release_id, status from waybill.connector_versions order by version`,
  );
  expect(rows).toEqual([
    {
      ...{
        adapter_ref: { kind: 'host', name: 'tracker-host', version: '1.4.0' },
        status: 'active',
      },
      release_id: 'pack-7',
    },
    {
      ...{ adapter_ref: { kind: 'host', name: 'tracker-host', version: '1.5.0' }, status: 'draft' },
      release_id: null,
    },
  ]);
});

test('no role of a process may change what a version was published with, or remove it', async () => {
  await apply(fleetOf(capability(), tracker(), connector()));
  const forgeries = [
    `update waybill.connector_versions set webhook_scheme = null`,
    `update waybill.connector_versions set content_digest = repeat('0', 64)`,
    `update waybill.connector_versions set artifact_digest = repeat('0', 64)`,
    `update waybill.connector_versions set certification_ref = 'elsewhere'`,
    `update waybill.connectors set owner_tenant_id = 'acme'`,
    `update waybill.version_capabilities set capability_id = capability_id`,
    ...['connector_versions', 'connectors', 'version_capabilities'].map(
      (table) => `delete from waybill.${table}`,
    ),
  ];
  for (const role of ['control', 'data', 'operations', 'lifecycle', 'observer'] as const) {
    for (const text of forgeries) {
      const forged = db()
        .as(`waybill_${role}`)
        .query({ name: text.slice(0, 60), text }, []);
      await expect(forged).rejects.toThrow(/permission denied/);
    }
  }
});

test('a deployment requires conformance unless its settings say otherwise', async () => {
  const [row] = await db().rows<{ usual: string }>(
    `select pg_get_expr(d.adbin, d.adrelid) as usual from pg_attrdef d join pg_attribute a
      on a.attrelid = d.adrelid and a.attnum = d.adnum
      where d.adrelid = 'waybill.settings'::regclass and a.attname = 'required_evidence'`,
  );
  expect(row?.usual).toMatch(/'\{conformance\}'/);
});

describe('a configuration form', () => {
  const form =
    'configurationForm: { type: object, required: [site, plan], additionalProperties: false, ' +
    'properties: { site: { type: string }, plan: { enum: [free, team] }, ' +
    'limits: { type: object, properties: { perDay: { type: integer, minimum: 1 } } } } }';

  test('names every mistake of a config by its field', async () => {
    const config = 'config: { plan: gold, limits: { perDay: 0 }, colour: red }';
    expect(await refusal(fleetOf(connector(form), instance(config)))).toEqual([
      expect.stringMatching(
        /^Instance acme\/github config.site: is missing; see the configurationForm/,
      ),
      expect.stringMatching(/config.colour: there is no such field/),
      expect.stringMatching(/config.plan: must be one of free, team/),
      expect.stringMatching(/config.limits.perDay: must be >= 1/),
    ]);
    expect(await refusal(fleetOf(connector(form), instance()))).toEqual([
      expect.stringMatching(/config.site: is missing/),
      expect.stringMatching(/config.plan: is missing/),
    ]);
  });

  test('is held against an instance that moves to its version', async () => {
    await apply(fleetOf(connector(), instance('config: { anything: true }')));
    const moved = instance('version: 2.0.0', 'configRevision: 2', 'config: { anything: true }');
    expect(await refusal(fleetOf(connector('version: 2.0.0', form), moved))).toHaveLength(3);
    const fits = moved.replace('{ anything: true }', '{ site: eu, plan: team }');
    expect(await apply(fleetOf(connector('version: 2.0.0', form), fits))).toMatchObject({
      changed: true,
    });
  });

  test('is a JSON Schema of the draft, on its own and of a bounded size, or refused', async () => {
    const forms = {
      'no-type': ['{ type: nothing }', /is no JSON Schema/],
      elsewhere: ['{ $ref: "https://h.test/form.json" }', /can't resolve reference/],
      file: ['{ $ref: "file:///etc/passwd" }', /can't resolve reference/],
      'other-draft': ['{ $schema: "http://json-schema.org/draft-07/schema#" }', /write https:/],
      'no-pattern': ['{ pattern: "(" }', /is no JSON Schema: Invalid regular/],
      huge: [`{ description: ${'x'.repeat(130_000)} }`, /at most 120 KiB/],
    } as const;
    const written = Object.entries(forms).map(([id, [form]]) =>
      connector(`id: ${id}`, `configurationForm: ${form}`),
    );
    expect(await refusal(fleetOf(...written))).toEqual(
      Object.entries(forms).map(([, [, problem]]) => expect.stringMatching(problem) as string),
    );
  });

  test('takes words and formats that it does not know for notes, and no longer than it may', async () => {
    const noted = '{ "x-order": 1, properties: { site: { format: our-own, widget: list } } }';
    const config = (site: string) => instance(`config: { site: ${site} }`);
    await apply(fleetOf(connector(`configurationForm: ${noted}`), config('eu')));
    const slow =
      'configurationForm: { properties: { site: { type: string, pattern: "^(a+)+$" } } }';
    const next = (site: string) =>
      fleetOf(
        connector('id: slow', slow),
        instance('id: slow', 'connector: slow', `config: { site: ${site} }`),
      );
    expect(await refusal(next(`${'a'.repeat(40)}b`))).toEqual([
      expect.stringMatching(/^Instance acme\/slow config: cannot be judged by its schema within/),
    ]);
    expect(await apply(next('aaa'))).toMatchObject({ changed: true });
  });
});

test('becoming active and deprecated is told once each, to whom the connector is', async () => {
  await apply(fleetOf(connector('status: draft')));
  await apply(fleetOf(connector('status: active')));
  await apply(fleetOf(connector('status: active')));
  await apply(fleetOf(connector('status: deprecated')));
  const own = connector('id: own', 'tenant: acme');
  await apply(fleetOf(own));
  const events = await db().rows(
    `select topic as type, tenant_id as tenant, payload from waybill.outbox_events order by position`,
  );
  const about = { connectorId: 'github', version: '1.0.0', tenantId: '_platform' };
  expect(events).toEqual([
    {
      ...{ type: 'connectors.connectors.v1.connector-activated', tenant: '_platform' },
      payload: { ...about, provider: 'github' },
    },
    {
      ...{ type: 'connectors.connectors.v1.connector-deprecated', tenant: '_platform' },
      payload: about,
    },
    {
      ...{ type: 'connectors.connectors.v1.connector-activated', tenant: 'acme' },
      payload: { connectorId: 'own', version: '1.0.0', tenantId: 'acme', provider: 'github' },
    },
  ]);
});
