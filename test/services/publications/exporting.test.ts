/**
 * The catalog as a fleet file: publishing an export changes nothing, and makes an empty catalog the
 * same. A real Postgres, the pool of the role waybill_control; fleets of all shapes.
 */
import * as fc from 'fast-check';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { readFleet } from '../../../src/schemas/fleet';
import { FLEET_DOCUMENTS, FLEET_KINDS } from '../../../src/schemas/fleet/documents';
import { loadShippedSchemes } from '../../../src/schemas/shipped-schemes';
import { publishFleet } from '../../../src/services/publications';
import { exportFleet } from '../../../src/services/publications/exporting';
import { arbitraryFleet } from '../../support/arbitrary-fleets';
import {
  account,
  binding,
  capability,
  connector,
  fleetOf,
  instance,
  replica,
  subscription,
  target,
  tracker,
} from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';
import type { TestDatabase } from '../../support/test-database';
import { createTestDatabase } from '../../support/test-database';

const { db, apply, revision } = publishing();
const schemes = loadShippedSchemes();
const exported = (from: TestDatabase, tenant: string | null = null): Promise<string> =>
  exportFleet(from.as('waybill_control'), tenant, schemes);
const publishTo = (to: TestDatabase, text: string) =>
  publishFleet(to.as('waybill_control'), readFleet(text, schemes), 'admin');

async function withDatabases(
  work: (one: TestDatabase, other: TestDatabase) => Promise<void>,
): Promise<void> {
  const [one, other] = [await createTestDatabase(), await createTestDatabase()];
  try {
    await work(one, other);
  } finally {
    await one.drop();
    await other.drop();
  }
}

/** `Kind field` of every field that a document can have. */
const allFields = FLEET_KINDS.flatMap((kind) => {
  const schema = z.toJSONSchema(FLEET_DOCUMENTS[kind], { io: 'input', unrepresentable: 'any' });
  return Object.keys(schema.properties ?? {}).map((field) => `${kind} ${field}`);
});

const Content = z.looseObject({ kind: z.string() }).nullable();
const fieldsIn = (text: string): string[] =>
  parseAllDocuments(text).flatMap((document) => {
    const content = Content.parse(document.toJS());
    if (content === null) return [];
    return Object.keys(content).map((field) => `${content.kind} ${field}`);
  });

test('publishing an export of any fleet is nothing, and makes an empty catalog the same', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.gen(), (draw) =>
      withDatabases(async (one, other) => {
        const { revision: first } = await publishTo(one, arbitraryFleet(draw));
        const text = await exported(one);
        fieldsIn(text).forEach((field) => seen.add(field));
        for (const part of [text, await exported(one, 'acme'), await exported(one, 'globex')]) {
          const again = await publishTo(one, part);
          expect(again).toEqual({ revision: first, changed: false, changes: [] });
        }
        expect(await exported(one)).toBe(text);
        await publishTo(other, text);
        expect(await exported(other)).toBe(text);
      }),
    ),
    { numRuns: 15, endOnFailure: true },
  );
  // A field that no export has would be lost.
  expect([...seen].sort()).toEqual([...allFields].sort());
}, 120_000);

describe('an export', () => {
  test('of a catalog that has lived is nothing to publish, either', async () => {
    const hooks = (...changes: string[]) => instance('grants: [source, tool]', ...changes);
    await apply(
      fleetOf(
        ...[capability(), tracker(), account(), binding(), replica(), replica('id: host-2')],
        ...[connector(), hooks(), instance('tenant: globex', 'id: other'), target()],
        ...[subscription(), subscription('id: second', 'ingress: null')],
        target('id: open', 'http: null', 'action: { capability: tickets.create }'),
      ),
    );
    await apply(
      fleetOf(
        tracker('status: deprecated', 'enabled: false'),
        account('credentials: [{ revision: r1, status: revoked }]'),
        subscription('state: deactivated'),
        subscription('id: second', 'ingress: null', 'state: deactivated'),
        instance('tenant: globex', 'id: other', 'status: revoked', 'configRevision: 2'),
      ),
    );
    await apply(fleetOf(connector('version: 2.0.0'), connector('status: revoked')));
    await apply(
      fleetOf(
        instance('version: 2.0.0', 'grants: [tool]', 'status: disabled', 'configRevision: 2'),
      ),
    );
    await apply(
      fleetOf(
        target('id: third'),
        subscription('id: third', 'instance: hooks', 'target: third', 'ingress: null'),
        instance('id: hooks', 'version: 2.0.0'),
      ),
    );
    await db().rows(`update waybill.subscriptions set state = 'paused', pause_reason = 'target_gone'
      where subscription_id = 'third'`);
    const before = await revision();
    expect(await apply(await exported(db()))).toMatchObject({ revision: before, changed: false });
    const [third] = await db().rows(
      `select state, pause_reason from waybill.subscriptions where subscription_id = 'third'`,
    );
    expect(third).toEqual({ state: 'paused', pause_reason: 'target_gone' });
  });

  test('of a catalog of more than 4 MiB is nothing to publish, either', async () => {
    const schema = `{ description: ${'x'.repeat(110_000)} }`;
    const many = Array.from({ length: 20 }, (_, nth) =>
      capability(`id: c${nth}`, `requestSchema: ${schema}`, `resultSchema: ${schema}`),
    );
    await apply(fleetOf(...many));
    const text = await exported(db());
    expect(text.length).toBeGreaterThan(4 * 1024 * 1024);
    expect(await apply(text)).toMatchObject({ revision: 1, changed: false });
  });

  test('takes back what was published since, also where that was nothing before', async () => {
    const before = await exported(db());
    const trust =
      '{ release: { kty: OKP, crv: Ed25519, x: 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo } }';
    await apply(
      `kind: Settings\nrequiredEvidence: [sbom]\nreplicaLease: 1s\ntrustedSigners: ${trust}\n`,
    );
    await apply(before);
    expect(await exported(db())).toBe(before.replace('at revision 0', 'at revision 2'));
  });

  test('of one tenant holds what belongs to it and nothing else', async () => {
    await apply(
      fleetOf(
        ...[capability(), tracker(), account(), binding(), replica(), target()],
        ...[account('tenant: globex', 'id: theirs'), target('tenant: globex')],
        connector('tenant: globex'),
      ),
    );
    const named = async (tenant: string) =>
      parseAllDocuments(await exported(db(), tenant)).flatMap((document) => {
        const content = z
          .object({ kind: z.string(), tenant: z.string() })
          .nullable()
          .parse(document.toJS());
        return content === null ? [] : [`${content.kind} ${content.tenant}`];
      });
    expect(await named('acme')).toEqual([
      ...['Instance acme', 'Binding acme', 'Replica acme', 'Target acme'],
    ]);
    expect(await named('globex')).toEqual([
      ...['Connector globex', 'Instance globex', 'Target globex'],
    ]);
    expect(await named('nobody')).toEqual([]);
  });

  test('names a scheme that comes with Waybill, and holds references, not secrets', async () => {
    await apply(fleetOf(connector(), instance('secretRef: file:a/b'), target(), subscription()));
    const text = await exported(db());
    expect(text).toMatch(/^# The catalog at revision 1\.\n---\nkind: Settings\n/);
    expect(text).toContain('\nwebhookScheme: github\n');
    expect(text).toContain('\nsecretRef: file:a/b\n');
    expect(text).toContain('ref: env:SECRET\n');
  });

  test('of more rows than one statement reads is whole', async () => {
    const many = Array.from({ length: 1001 }, (_, nth) => target(`id: t${nth}`));
    await apply(fleetOf(...many));
    const text = await exported(db());
    expect(text.match(/^kind: Target$/gm)).toHaveLength(1001);
    expect(await apply(text)).toMatchObject({ changed: false });
  });
});
