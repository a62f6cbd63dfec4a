/**
 * `waybill actions` as a person runs it. Real: the command's process, socket, server, Postgres.
 * Doubled: the starter of workflows; what a workflow would do is done by the registry.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { tenantId } from '../../src/domain/ids';
import { Action, ActionPage, CancelAnswer } from '../../src/schemas/api-actions';
import { ACTIONS_READ, ACTIONS_RUN, Harness } from '../http/harness';
import { CAPABILITY, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { until } from '../support/until';
import {
  environmentOf,
  failureOf,
  newHome,
  removeHomes,
  waybill,
  type Environment,
} from './waybill';

let h: Harness;
let rig: Rig;
let env: Environment;
beforeAll(async () => {
  h = await Harness.start();
  rig = new Rig(postgresFixture(h.db));
  await rig.fixture.change({ settings: { replicaLeaseMs: 600_000 } });
  await rig.account();
  await rig.host({ replica: 'host' });
  env = await environmentOf(h, ACTIONS_READ, ACTIONS_RUN);
});
afterAll(async () => {
  await h.stop();
  removeHomes();
});

const startArgs = (id: string, ...more: readonly string[]) => [
  ...['actions', 'start', CAPABILITY, '--id', id],
  ...['--request', JSON.stringify({ title: id }), ...more],
];

const CLOSING = {
  completed: { outcome: 'succeeded', resultSha256: null, errorCode: null },
  failed: { outcome: 'failed', resultSha256: null, errorCode: 'repository_archived' },
} as const;

/** What its workflow would do, once the action is there. */
async function close(actionId: string, how: keyof typeof CLOSING): Promise<void> {
  await until(`${actionId} is started`, () =>
    Promise.resolve(h.attended.some(([, id]) => id === actionId) ? true : null),
  );
  const { reservation } = await rig.reserved(actionId);
  const at = { tenantId: tenantId('acme'), actionId };
  const move = { ...at, reason: null, waiting: false, result: null };
  await rig.registry.ledger.moveAction({ ...move, from: ['reserved'], to: 'dispatching' });
  const { fence } = reservation;
  await rig.settle(actionId, fence, 'completed');
  await rig.registry.resolver.recordResult({ ...at, fence }, CLOSING[how], { status: 200 });
}

test('start says that the action is under way; list and show find it', async () => {
  const started = await waybill(startArgs('order-1'), env);
  expect(started).toMatchObject({ code: 0, stderr: '' });
  expect(started.stdout).toBe('order-1 is requested\nsee `waybill actions show order-1`\n');
  const list = await waybill(['actions', 'list', '--state', 'requested', 'failed'], env);
  expect(list.stdout).toMatch(/^ACTION +STATE +CAPABILITY +TRIES +STARTED +WAITS SINCE +REASON$/m);
  expect(list.stdout).toMatch(/^order-1 +requested +tickets\.create +0 /m);
  const none = await waybill(['actions', 'list', '--waiting', '--since', '1h'], env);
  expect(none.stdout).toBe('no action matches\n');
  const shown = await waybill(['actions', 'show', 'order-1'], env);
  expect(shown.stdout).toMatch(/^state +requested$/m);
  expect(shown.stdout).toMatch(/^waits for +a worker that takes it on/m);
  expect(shown.stdout).toMatch(/^Temporal +http:.*action%2Facme%2Forder-1$/m);
});

test('start waits for the end and prints what came of it', async () => {
  const running = waybill(startArgs('order-2', '--wait', '30s', '--json'), env);
  await close('order-2', 'completed');
  const { code, stdout, stderr } = await running;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(Action.parse(JSON.parse(stdout))).toMatchObject({
    actionId: 'order-2',
    state: 'completed',
    attempts: [{ settlement: 'completed' }],
  });
  const page = await waybill(['actions', 'show', 'order-2'], env);
  expect(page.stdout).toMatch(/^state +completed after 1 attempt$/m);
  for (const section of ['RESULT', 'ROUTE', 'ATTEMPTS']) expect(page.stdout).toContain(section);
});

test('start that waited fails with the state and the reason when the action did not complete', async () => {
  const running = waybill(startArgs('order-3', '--wait', '30s'), env);
  await close('order-3', 'failed');
  expect(failureOf(await running)).toEqual({
    message: 'order-3 is failed: repository_archived',
    code: 'action_not_completed',
  });
  const slow = await waybill(startArgs('order-4', '--wait', '1ms'), env);
  const { message, code } = failureOf(slow);
  expect(message).toMatch(/^order-4 is requested: it waits for a worker/);
  expect({ exit: slow.code, code }).toEqual({ exit: 1, code: 'action_not_completed' });
});

test('start takes the request from a file, and refuses another one under the same id', async () => {
  const file = path.join(newHome(), 'request.json');
  writeFileSync(file, '{ "title": "from a file" }');
  const args = ['actions', 'start', CAPABILITY, '--id', 'order-5', '--request'];
  const more = ['--affinity', 'thread-1', '--deadline', '2h', '--retries', '0', '--json'];
  const { stdout } = await waybill([...args, file, ...more], env);
  expect(Action.parse(JSON.parse(stdout))).toMatchObject({
    affinityKey: 'thread-1',
    retryBudget: 0,
  });
  const again = await waybill([...args, '{"title":"from a file"}', '--json'], env);
  expect(Action.parse(JSON.parse(again.stdout))).toEqual(Action.parse(JSON.parse(stdout)));
  const other = await waybill([...args, '{"title":"another"}'], env);
  expect(failureOf(other).code).toBe('action_conflict');
});

test('list goes on where the page before ended', async () => {
  for (const id of ['page-1', 'page-2']) await rig.start(id);
  const first = await waybill(['actions', 'list', '--limit', '1'], env);
  const cursor = /--cursor (\S+)/.exec(first.stdout)?.[1] ?? '';
  const next = await waybill(['actions', 'list', '--cursor', cursor, '--json'], env);
  expect(ActionPage.parse(JSON.parse(next.stdout)).actions[0]?.actionId).toBe('page-1');
});

test('cancel ends what has not begun, and says when it comes too late', async () => {
  await rig.start('order-6');
  const args = ['actions', 'cancel', 'order-6', '--reason', 'ordered twice'];
  expect((await waybill(args, env)).stdout).toBe('order-6 is cancelled\n');
  const again = await waybill([...args, '--json'], env);
  expect(CancelAnswer.parse(JSON.parse(again.stdout)).decision).toBe('already');
  const late = await waybill(['actions', 'cancel', 'order-2', '--reason', 'too late'], env);
  expect(failureOf(late)).toEqual({
    message: 'order-2 cannot be cancelled: it is completed',
    code: 'cancel_too_late',
  });
});

test('show says what a person has to do where one is needed', async () => {
  await rig.run('order-7', 'outcome_unknown');
  const at = { tenantId: tenantId('acme'), actionId: 'order-7', waiting: true, result: null };
  const { ledger } = rig.registry;
  await ledger.moveAction({ ...at, from: ['unknown'], to: 'reconciling', reason: null });
  const reason = 'store_lost';
  await ledger.moveAction({ ...at, from: ['reconciling'], to: 'needs_operator', reason });
  const { stdout } = await waybill(['actions', 'show', 'order-7'], env);
  expect(stdout).toMatch(
    /^waits for +a person: .*store_lost.*`waybill actions resolve order-7 --outcome /m,
  );
  expect(stdout).toMatch(/outcome_unknown \(host\)/);
});

test('what is not there, or not allowed, is told in one line', async () => {
  expect(failureOf(await waybill(['actions', 'show', 'nothing'], env)).code).toBe('not_found');
  const reader = { ...env, WAYBILL_TOKEN: await h.token({ scopes: [ACTIONS_READ] }) };
  expect(failureOf(await waybill(startArgs('order-8'), reader)).code).toBe('scope_missing');
  const burn = ['actions', 'start', 'tickets.burn', '--id', 'x', '--request', '{}'];
  expect(failureOf(await waybill(burn, env)).code).toBe('capability_unavailable');
});
