/**
 * Starting and cancelling actions as every way in does it, over a real Postgres. Doubled: the starter of
 * workflows, which writes down whom it was told to attend to.
 */
import type { ActionIdentity } from '../../../src/domain/action-activities';
import { resendDelayMs } from '../../../src/domain/action-retry';
import type { ActionOrder, ActionService } from '../../../src/domain/action-service';
import { tenantId } from '../../../src/domain/ids';
import { REQUEST_LIMIT_BYTES } from '../../../src/hosts/protocol/limits';
import { actionService } from '../../../src/services/actions/starting';
import { CAPABILITY, Rig } from '../../registry/fixture';
import { postgresFixture } from '../../registry/postgres-fixture';
import { startingActions } from '../../support/starting-actions';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

let db: TestDatabase;
let actions: ActionService;
const attended: [string, ActionIdentity][] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  await new Rig(postgresFixture(db)).account();
  const attend = (action: ActionIdentity, why: string): void => void attended.push([why, action]);
  actions = actionService(startingActions(db.as('waybill_data'), attend));
});
afterAll(() => db.drop());
beforeEach(() => {
  attended.length = 0;
});

const order = (actionId: string, more: Partial<ActionOrder> = {}): ActionOrder => ({
  ...{ tenantId: tenantId('acme'), actionId, capabilityId: CAPABILITY, request: { title: 'x' } },
  ...{ affinityKey: null, deadlineMs: 60_000, retryBudget: 5, requestedBy: 'ada', ...more },
});

const stored = (actionId: string) =>
  db.rows('select affinity_key from waybill.actions where action_id = $1', [actionId]);

test('an action keeps the affinity key that it was started with, whoever asks again', async () => {
  await actions.start(order('kept', { affinityKey: 'thread-1' }));
  for (const affinityKey of [null, 'thread-2']) {
    expect(await actions.start(order('kept', { affinityKey }))).toEqual({ kind: 'existing' });
  }
  const keys = attended.map(([why, action]) => [why, action.affinityKey]);
  expect(keys).toEqual(Array.from({ length: 3 }, () => ['start', 'thread-1']));
  expect(await stored('kept')).toEqual([{ affinity_key: 'thread-1' }]);
});

test('a request that no host takes is refused before anything is stored', async () => {
  const quotes = 2;
  const largest = 'x'.repeat(REQUEST_LIMIT_BYTES - quotes);
  await expect(actions.start(order('large', { request: `${largest}x` }))).rejects.toMatchObject({
    code: 'action_request_invalid',
    field: 'request',
  });
  // Bytes count, not characters.
  const wide = 'ü'.repeat(REQUEST_LIMIT_BYTES / 2);
  await expect(actions.start(order('large', { request: wide }))).rejects.toMatchObject({
    code: 'action_request_invalid',
  });
  expect(await stored('large')).toEqual([]);
  expect(attended).toEqual([]);
  expect(await actions.start(order('large', { request: largest }))).toEqual({ kind: 'started' });
});

test('the default budget of tries outlasts the lease of a host that died', async () => {
  const [settings] = await db.rows<{ lease: number }>(
    'select replica_lease_ms as lease from waybill.settings',
  );
  const pauses = [1, 2, 3, 4, 5].map((attemptNo) => resendDelayMs(attemptNo, 0));
  const together = pauses.reduce((sum, pause) => sum + pause, 0);
  expect(together).toBeGreaterThan(30_000);
  expect(together).toBeGreaterThan(settings?.lease ?? Infinity);
});
