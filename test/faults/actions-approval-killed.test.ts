/**
 * SIGKILL of a real process around an approval: the API between the decision and its nudge, a worker
 * between asking and telling. Doubled: nothing. Verdict: the provider's own records and the rows.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { ActionRef } from '../../src/domain/action-service';
import { tenantId } from '../../src/domain/ids';
import { issueDevelopmentToken } from '../../src/http/tokens/development';
import { importSigningKey } from '../../src/signing/keys';
import { TENANT } from '../support/action-fleet';
import { ActionFaultRig } from '../support/action-fault-rig';

let faults: ActionFaultRig;

beforeAll(async () => {
  faults = await ActionFaultRig.start();
  await faults.rig.db.rows('update waybill.bindings set approval_required = true');
  await faults.host(0);
});
afterAll(async () => {
  await faults.stop();
});

const approval = async (ref: ActionRef) => {
  const [row] = await faults.rig.db.rows(
    'select state, asked_at, decided_by from waybill.approvals where action_id = $1',
    [ref.actionId],
  );
  return row;
};

test('an API killed between the decision and its nudge: decided, and done once', async () => {
  const lane = faults.lane();
  await lane.worker();
  const ref = await lane.start();
  await faults.rig.reaches(ref, 'awaiting_approval');
  const { api, url } = await lane.api('approval.decided');
  const lost = approve(url, ref).catch(() => 'lost');
  await api.heldAt('approval.decided');
  await api.kill();
  expect(await lost).toBe('lost');
  expect(await approval(ref)).toMatchObject({ state: 'approved', decided_by: 'kate' });
  await faults.completes(ref);
  await faults.balances();
});

test('a worker killed between asking and telling: another one tells, and nobody is asked twice', async () => {
  const lane = faults.lane();
  const doomed = await lane.worker('approval.asked');
  const ref = await lane.start();
  await doomed.heldAt('approval.asked');
  await doomed.kill();
  const asked = await approval(ref);
  await lane.heir();
  await faults.rig.says(ref, /Waits for an approval/);
  expect(await approval(ref)).toEqual(asked);
  await faults.rig.actions.decide(ref, { decision: 'approved', by: 'kate', reason: 'checked' });
  await faults.completes(ref);
  await faults.balances();
});

async function approve(url: string, { actionId }: ActionRef): Promise<Response> {
  const keyFile = path.join(faults.home, 'keys', 'development-tokens.jwk');
  const token = await issueDevelopmentToken(await importSigningKey(readFileSync(keyFile, 'utf8')), {
    tenantId: tenantId(TENANT),
    subject: 'kate',
    scopes: ['factory.actions.approve'],
    issuedAt: new Date(),
    lifetimeS: 60,
  });
  return await fetch(`${url}/v1/actions/${actionId}/approve`, {
    method: 'POST',
    body: JSON.stringify({ reason: 'checked' }),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  });
}
