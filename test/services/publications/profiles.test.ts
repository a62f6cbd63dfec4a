/**
 * Publishing the profiles of connector versions, and the bounds of a definition: a real Postgres, the
 * pool of the role waybill_control.
 */
import { capabilityCatalog } from '../../../src/db/capabilities';
import { tenantId } from '../../../src/domain/ids';
import { account, binding, capability, fleetOf, tracker } from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';

const { db, apply, refusal } = publishing();

const ANY = { search: null, capabilityId: null, interfaceName: null, profile: null };

const whole = (...changes: readonly string[]) =>
  fleetOf(capability(), tracker(...changes), account(), binding());

async function shown() {
  const page = await capabilityCatalog(db().as('waybill_data')).page({
    ...{ ...ANY, tenantId: tenantId('acme'), unbound: false, after: null, limit: 10 },
  });
  return page.kind === 'page' ? page.capabilities : [];
}

test('the profiles of a version are shown with what it serves, sorted, each once', async () => {
  await apply(whole('profiles: [batch, audit, batch]'));
  expect(await shown()).toMatchObject([
    { capabilityId: 'tickets.create', profiles: ['audit', 'batch'] },
  ]);
  const again = await apply(whole('profiles: [audit, batch]'));
  expect(again.changed).toBe(false);
});

test('a version without profiles has none', async () => {
  await apply(whole());
  expect(await shown()).toMatchObject([{ profiles: [] }]);
});

test('profiles belong to what never changes of a version', async () => {
  await apply(whole('profiles: [audit]'));
  expect(await refusal(whole('profiles: [audit, batch]'))).toEqual([
    expect.stringMatching(/^Connector tracker@1\.0\.0 profiles: .*never changes/),
  ]);
  expect(await refusal(whole('profiles: [Not a name]'))).toEqual([
    expect.stringMatching(/^Connector tracker@1\.0\.0 profiles\[0\]: /),
  ]);
});

test('the largest definition that can be published stays below 256 KiB as it is read', async () => {
  const schema = (bytes: number) => `{ title: ${'x'.repeat(bytes)} }`;
  const most = 120 * 1024 - '{"title":""}'.length;
  const of = (bytes: number) =>
    fleetOf(
      capability(`requestSchema: ${schema(bytes)}`, `resultSchema: ${schema(bytes)}`),
      ...[tracker(), account(), binding()],
    );
  expect(await refusal(of(most + 1))).toHaveLength(2);
  await apply(of(most));
  const [definition] = await shown();
  const bytes = Buffer.byteLength(JSON.stringify(definition));
  expect(bytes).toBeGreaterThan(240 * 1024);
  expect(bytes).toBeLessThanOrEqual(256 * 1024);
});
