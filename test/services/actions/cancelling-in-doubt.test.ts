/**
 * Cancelling an action that waits for an operator, by the service, over HTTP and on the command line.
 * Real: the command's process, socket, server, Postgres, row security. Doubled: the starter of
 * workflows; what a workflow would do is done by the registry.
 */
import { tenantId } from '../../../src/domain/ids';
import { CancelAnswer } from '../../../src/schemas/api-actions';
import { decideCancel } from '../../../src/services/actions/settling';
import { environmentOf, removeHomes, waybill } from '../../cli/waybill';
import { ACTIONS_READ, ACTIONS_RUN, Harness } from '../../http/harness';
import { Rig } from '../../registry/fixture';
import { postgresFixture } from '../../registry/postgres-fixture';
import { testSigner } from '../../support/test-signer';

let h: Harness;
let rig: Rig;
beforeAll(async () => {
  h = await Harness.start();
  rig = new Rig(postgresFixture(h.db));
  await rig.fixture.change({ settings: { replicaLeaseMs: 600_000 } });
  await rig.account();
  await rig.host({ replica: 'host' });
});
afterAll(async () => {
  await h.stop();
  removeHomes();
});

/** An action that nobody but a person can clear up. */
async function doubtful(actionId: string): Promise<string> {
  await rig.run(actionId, 'outcome_unknown');
  const move = { tenantId: tenantId('acme'), actionId, reason: 'outcome_unknown', waiting: true };
  const { ledger } = rig.registry;
  await ledger.moveAction({ ...move, from: ['unknown'], to: 'reconciling', result: null });
  await ledger.moveAction({ ...move, from: ['reconciling'], to: 'needs_operator', result: null });
  return actionId;
}

test('the wish is on record, and the answer says that a person decides', async () => {
  const ref = { tenantId: tenantId('acme'), actionId: await doubtful('asked') };
  for (const cancelledBy of ['ada', 'grace']) {
    const decided = await decideCancel(
      { data: h.db.as('waybill_data'), sign: testSigner },
      { ...ref, cancelledBy, reason: 'ordered twice' },
    );
    expect(decided).toEqual({ kind: 'needs_operator', state: 'needs_operator' });
  }
  const [row] = await h.db.rows(
    'select state, cancel_requested_by from waybill.actions where action_id = $1',
    [ref.actionId],
  );
  expect(row).toEqual({ state: 'needs_operator', cancel_requested_by: 'ada' });
});

test('over HTTP it is an answer, not a promise that its host is told', async () => {
  const actionId = await doubtful('called');
  const answer = await h.call<CancelAnswer>(`/v1/actions/${actionId}/cancel`, {
    json: { reason: 'ordered twice' },
    scopes: [ACTIONS_RUN],
  });
  expect(answer.status).toBe(200);
  expect(CancelAnswer.parse(answer.body)).toMatchObject({
    decision: 'needs_operator',
    action: { state: 'needs_operator', cancelRequestedBy: 'ada@example.test' },
  });
  expect(h.attended).not.toContainEqual(['nudge', actionId]);
});

test('the command says so in words', async () => {
  const actionId = await doubtful('typed');
  const env = await environmentOf(h, ACTIONS_READ, ACTIONS_RUN);
  const said = await waybill(['actions', 'cancel', actionId, '--reason', 'ordered twice'], env);
  expect(said).toMatchObject({ code: 0, stderr: '' });
  expect(said.stdout).toBe('typed waits for an operator, who sees the wish and decides\n');
});
