/**
 * Exports of receipts, with a real Postgres and real signatures: what the product's steps leave is exported,
 * and checked with the public keys alone. Asserted: an export verifies; any single change of it is detected,
 * and named where something is missing, cut, replaced or moved.
 */
import fc from 'fast-check';
import { tenantId, type TenantId } from '../../src/domain/ids';
import { checkpointReceipts, removeReceipts } from '../../src/services/checkpoints';
import { exportReceipts } from '../../src/services/receipt-export';
import { publicKeySet } from '../../src/signing/keys';
import { verifyExport } from '../../src/signing/receipts/verify-export';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { acknowledged, attempted, failed, replay } from '../support/signed-chains';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { cancelAction, testKey } from '../support/test-signer';

let db: TestDatabase;
let acme: CatalogFixture;
let lines: readonly string[];
/** Closed and written down; replayed since; open. */
const chains = { closed: '', again: '', open: '' };

const never = new AbortController().signal;

async function exported(tenant: TenantId = tenantId('acme')): Promise<string[]> {
  const services = {
    data: db.as('waybill_data'),
    signingKey: await testKey(),
    nowMs: () => 1_800_000_000_000,
  };
  const found: string[] = [];
  for await (const line of exportReceipts(services, tenant)) found.push(line.trimEnd());
  return found;
}

async function verdict(given: readonly string[]) {
  return await verifyExport(given, publicKeySet([await testKey()]));
}

async function checkpoint(): Promise<void> {
  const services = { operations: db.as('waybill_operations'), signingKey: await testKey() };
  await checkpointReceipts(services, never);
}

beforeAll(async () => {
  db = await createTestDatabase();
  acme = await insertCatalog(db);
  const rig = new Rig(postgresFixture(db));
  await rig.account({ instance: 'tracker' });
  await rig.start('cancelled-one');
  await cancelAction(db, 'acme', 'cancelled-one');
  chains.closed = `delivery/${(await acknowledged(db, acme)).deliveryId}`;
  const again = await failed(db, acme);
  chains.again = `delivery/${again.deliveryId}`;
  await checkpoint();
  await replay(db, again);
  await attempted(db, again, 'acknowledged');
  await checkpoint();
  const open = await failed(db, acme);
  chains.open = `delivery/${open.deliveryId}`;
  await replay(db, open);
  lines = await exported();
});
afterAll(() => db.drop());

test('what the product has written verifies with the public keys alone', async () => {
  expect(await verdict(lines)).toEqual({
    ...{ ok: true, tenant: 'acme', problems: [], more: false },
    ...{ chains: 4, receipts: 7, checkpoints: 2 },
  });
});

test('a tenant without receipts has an export, too', async () => {
  const nothing = await exported(tenantId('nobody'));
  expect(await verdict(nothing)).toMatchObject({ ok: true, chains: 0, checkpoints: 0 });
  expect(await verdict(nothing.slice(1))).toMatchObject({ ok: false });
});

const at = (start: string) => lines.findIndex((line) => line.startsWith(start));
const chainAt = (subject: string) => at(`{"chain":"${subject}"`);
const without = (index: number) => lines.filter((_, nth) => nth !== index);
const edited = (index: number, edit: (line: string) => string) =>
  lines.map((line, nth) => (nth === index ? edit(line) : line));

interface Chain {
  readonly chain: string;
  readonly receipts: readonly string[];
}
const rechained = (subject: string, edit: (receipts: readonly string[]) => readonly string[]) =>
  edited(chainAt(subject), (line) => {
    const { chain, receipts } = JSON.parse(line) as Chain;
    return JSON.stringify({ chain, receipts: edit(receipts) });
  });

async function told(given: readonly string[]) {
  return (await verdict(given)).problems.map(({ code, subject, seq }) => ({ code, subject, seq }));
}

test('a whole chain that is left out is named, written down or not', async () => {
  for (const subject of [chains.closed, chains.open]) {
    const found = await told(without(chainAt(subject)));
    expect(found).toContainEqual({ code: 'missing_chain', subject, seq: null });
  }
});

test('a receipt that is left out, moved or altered is named with its chain and place', async () => {
  const subject = chains.again;
  const middle = await told(rechained(subject, ([first, , third]) => [first ?? '', third ?? '']));
  expect(middle).toContainEqual({ code: 'sequence_gap', subject, seq: 2 });
  const moved = await told(rechained(subject, (all) => [...all].reverse()));
  expect(moved).toContainEqual({ code: 'previous_mismatch', subject, seq: 1 });
  const altered = await told(
    rechained(subject, ([first = '', second = '', third = '']) => {
      const [header, payload = '', signature] = second.split('.');
      const text = Buffer.from(payload, 'base64url').toString().replace('ada', 'eve');
      return [first, [header, Buffer.from(text).toString('base64url'), signature].join('.'), third];
    }),
  );
  expect(altered).toContainEqual({ code: 'bad_signature', subject, seq: 2 });
});

test('a chain that is cut at its end is named with how far it went', async () => {
  for (const subject of [chains.again, chains.open]) {
    const found = await told(rechained(subject, (receipts) => receipts.slice(0, -1)));
    const seq = subject === chains.again ? 2 : 1;
    expect(found).toContainEqual({ code: 'chain_cut', subject, seq });
  }
});

test('a chain that is missing together with its mention in the list is still missing', async () => {
  const subject = chains.closed;
  const list = at('{"heads"');
  const shorter = edited(list, (line) => {
    const { heads } = JSON.parse(line) as { heads: [string, number, string][] };
    return JSON.stringify({ heads: heads.filter(([name]) => name !== subject) });
  }).filter((_, nth) => nth !== chainAt(subject));
  const found = await told(shorter);
  expect(found).toContainEqual({ code: 'missing_chain', subject, seq: null });
  expect(found.map(({ code }) => code)).toContain('list_altered');
});

test('checkpoints that are left out, and an export that was cut, are told', async () => {
  expect((await told(without(0))).map(({ code }) => code)).toEqual(['checkpoint_gap']);
  expect((await told(without(1))).map(({ code }) => code)).toEqual(['checkpoints_cut']);
  const cut = await told(lines.slice(0, -1));
  expect(cut.map(({ code }) => code)).toEqual(['no_statement']);
});

test('a checkpoint that stands there again after a removal is told', async () => {
  const own = await createTestDatabase();
  try {
    const tenant = tenantId('acme');
    const fixture = await insertCatalog(own);
    const services = { operations: own.as('waybill_operations'), signingKey: await testKey() };
    for (let nth = 0; nth < 2; nth += 1) {
      await acknowledged(own, fixture);
      await checkpointReceipts(services, never);
    }
    await own.rows('delete from waybill.delivery_attempts');
    await own.rows('delete from waybill.deliveries');
    await own.rows(`update waybill.receipt_checkpoints set created_at = now() - interval '500 days'
      where checkpoint_no = 1`);
    expect(await removeReceipts(services, never)).toMatchObject({ receipts: 1 });
    const left: string[] = [];
    const exporting = { data: own.as('waybill_data'), nowMs: () => 1_800_000_000_000 };
    for await (const line of exportReceipts({ ...services, ...exporting }, tenant)) {
      left.push(line.trimEnd());
    }
    expect((await verdict(left)).problems).toEqual([]);
    const [second = '', removal = ''] = left;
    const twice = [
      { line: 2, start: [second, second, removal] },
      { line: 3, start: [second, removal, second, removal] },
    ];
    for (const { line, start } of twice) {
      const { problems } = await verdict([...start, ...left.slice(2)]);
      expect(problems).toMatchObject([{ line, code: 'checkpoint_gap', checkpoint: 2 }]);
    }
  } finally {
    await own.drop();
  }
});

test('receipts of another tenant, rightly signed, do not pass', async () => {
  const other = await insertCatalog(db, { tenant: 'umbrella' });
  await acknowledged(db, other);
  const theirs = await exported(tenantId('umbrella'));
  const chain = theirs.findIndex((line) => line.startsWith('{"chain"'));
  const mixed = [...lines];
  mixed.splice(chainAt(chains.closed), 0, theirs[chain] ?? '');
  expect((await told(mixed)).map(({ code }) => code)).toEqual(['other_tenant', 'unlisted_chain']);
  const swapped = [...lines.slice(0, -1), theirs.at(-1) ?? ''];
  expect((await verdict(swapped)).ok).toBe(false);
});

/** One change of one line, one value or one character. */
const mutation = fc.record({
  kind: fc.constantFrom('drop', 'double', 'swap', 'character', 'element', 'field'),
  line: fc.nat(),
  place: fc.nat(),
});

function mutated(given: readonly string[], change: { kind: string; line: number; place: number }) {
  const copy = [...given];
  const index = change.line % copy.length;
  const text = copy[index] ?? '';
  switch (change.kind) {
    case 'drop':
      copy.splice(index, 1);
      return copy;
    case 'double':
      copy.splice(index, 0, text);
      return copy;
    case 'swap': {
      const other = (index + 1 + (change.place % (copy.length - 1))) % copy.length;
      [copy[index], copy[other]] = [copy[other] ?? '', text];
      return copy;
    }
    case 'character': {
      const place = change.place % text.length;
      const letter = text[place] === 'A' ? 'B' : 'A';
      copy[index] = text.slice(0, place) + letter + text.slice(place + 1);
      return copy;
    }
    default:
      copy[index] = JSON.stringify(reshaped(JSON.parse(text) as Shape, change));
      return copy;
  }
}

type Shape = Record<string, string | unknown[]>;

/** A list loses one element, or swaps two; or a field is added. */
function reshaped(value: Shape, { kind, place }: { kind: string; place: number }): Shape {
  const list = Object.values(value).find(Array.isArray);
  if (kind === 'field' || list === undefined) return { ...value, [`x${place % 9}`]: 'y' };
  if (list.length > 1 && place % 2 === 0) list.reverse();
  else list.splice(place % list.length, 1);
  return value;
}

test('any single change of an export is detected', async () => {
  await fc.assert(
    fc.asyncProperty(mutation, async (change) => {
      expect((await verdict(mutated(lines, change))).ok).toBe(false);
    }),
    { numRuns: 250 },
  );
});
