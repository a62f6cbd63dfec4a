/**
 * The delivery's state machine: the domain's table against the guard in a real Postgres, cell by cell.
 * Rows are put into a state as administrator without triggers, and moved as waybill_data.
 */
import { v7 as uuidv7 } from 'uuid';
import type { Run } from '../../src/db/database';
import type { DeliveryState } from '../../src/domain/delivery-states';
import {
  DELIVERY_BIRTH_STATES,
  DELIVERY_STATES,
  isLive,
  LIVE_DELIVERY_STATES,
  mayFollow,
} from '../../src/domain/delivery-states';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase } from '../support/test-database';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const cells = DELIVERY_STATES.flatMap((from) =>
  DELIVERY_STATES.map((to) => [from, mayFollow(from, to) ? '→' : '↛', to] as const),
);

/** The columns that the row's own constraints tie to its state. */
const TIED = `state = $3, settled_at = case when $4 then null else clock_timestamp() end,
  attend_at = case when $4 then clock_timestamp() end,
  dedup_key = case when $3 <> 'Rejected' then 'key' end,
  duplicate_of = case when $3 = 'Deduplicated' then $2::uuid end`;

const INSERT = `insert into waybill.deliveries
  (tenant_id, delivery_id, direction, connector_id, instance_id, event_type, payload_sha256,
   payload_bytes, state, settled_at, attend_at, dedup_key, duplicate_of)
  select 'acme', $2, 'inbound', 'github', 'main', 'push', sha256(''), 0, $3::text,
    case when $4 then null else clock_timestamp() end, case when $4 then clock_timestamp() end,
    case when $3 <> 'Rejected' then 'key' end, case when $3 = 'Deduplicated' then $2::uuid end
    where $1::text = 'acme'`;

const valuesOf = (id: string, state: DeliveryState) => ['acme', id, state, isLive(state)];

/** Runs one statement as the data role, for tenant acme. */
async function asTenant(name: string, text: string, values: readonly unknown[]): Promise<void> {
  await db.as('waybill_data').transaction(async (run: Run) => {
    const setTenant = `select set_config('waybill.tenant', 'acme', true)`;
    await run({ name: 'test_tenant', text: setTenant }, []);
    await run({ name, text }, values);
  });
}

async function stateOf(id: string): Promise<string | undefined> {
  const rows = await db.rows<{ state: string }>(
    'select state from waybill.deliveries where delivery_id = $1',
    [id],
  );
  return rows[0]?.state;
}

async function born(state: DeliveryState): Promise<string> {
  const id = uuidv7();
  await db.rows('set session_replication_role = replica');
  await db.rows(INSERT, valuesOf(id, state));
  await db.rows('reset session_replication_role');
  return id;
}

test.each(cells)(
  '%s %s %s: the function in SQL says the same as the domain',
  async (from, _, to) => {
    const [row] = await db.rows<{ may: boolean }>(
      'select waybill.delivery_may_follow($1, $2) as may',
      [from, to],
    );
    expect(row?.may).toBe(mayFollow(from, to));
  },
);

test.each(cells.filter(([from, , to]) => from !== to))(
  '%s %s %s: the guard of the table does the same',
  async (from, _, to) => {
    const id = await born(from);
    const text = `update waybill.deliveries set ${TIED} where tenant_id = $1 and delivery_id = $2`;
    const moved = asTenant('test_move', text, valuesOf(id, to));
    if (mayFollow(from, to)) {
      await moved;
      expect(await stateOf(id)).toBe(to);
    } else {
      await expect(moved).rejects.toMatchObject({ code: 'WB001' });
      expect(await stateOf(id)).toBe(from);
    }
  },
);

test.each(DELIVERY_STATES)('a delivery is born %s only if the domain says so', async (state) => {
  const id = uuidv7();
  const birth = asTenant('test_birth', INSERT, valuesOf(id, state));
  if (DELIVERY_BIRTH_STATES.includes(state)) {
    await birth;
    expect(await stateOf(id)).toBe(state);
  } else {
    await expect(birth).rejects.toMatchObject({ code: 'WB001' });
    expect(await stateOf(id)).toBeUndefined();
  }
});

test('a state that is not in the table follows nothing', async () => {
  const rows = await db.rows(
    `select waybill.delivery_may_follow('Received', 'Lost') or waybill.delivery_may_follow('Lost', 'Failed')
      as may`,
  );
  expect(rows).toEqual([{ may: false }]);
});

test('the states that are not live are exactly those that need no attention', async () => {
  expect(DELIVERY_STATES.filter(isLive)).toEqual(LIVE_DELIVERY_STATES);
  for (const state of DELIVERY_STATES) {
    const id = await born(state);
    const swap = `update waybill.deliveries set
        attend_at = case when attend_at is null then clock_timestamp() end
      where tenant_id = $1 and delivery_id = $2`;
    await expect(asTenant('test_swap', swap, ['acme', id])).rejects.toMatchObject({
      constraint: 'deliveries_attended',
    });
  }
});
