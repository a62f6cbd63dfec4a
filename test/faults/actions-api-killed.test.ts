/**
 * SIGKILL of a real API process around the start of an action; the loop of a worker takes it on.
 * Doubled: nothing. Verdict: the provider's own records and the rows.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { tenantId } from '../../src/domain/ids';
import { issueDevelopmentToken } from '../../src/http/tokens/development';
import { importSigningKey } from '../../src/signing/keys';
import { TENANT } from '../support/action-fleet';
import { ActionFaultRig } from '../support/action-fault-rig';

let faults: ActionFaultRig;

beforeAll(async () => {
  faults = await ActionFaultRig.start();
  await faults.host(0);
});
afterAll(async () => {
  await faults.stop();
});

test.each(['action.stored', 'action.started'] as const)(
  'an API killed at %s: the loop starts the workflow, and its repeat meets the action',
  async (point) => {
    const lane = faults.lane();
    const actionId = randomUUID();
    const { api, url } = await lane.api(point);
    const lost = start(url, actionId).catch(() => 'lost');
    await api.heldAt(point);
    await api.kill();
    expect(await lost).toBe('lost');
    await lane.worker();
    await faults.completes({ tenantId: tenantId(TENANT), actionId });
    const next = await lane.api();
    const repeat = await start(next.url, actionId);
    expect(repeat.status).toBe(200);
    expect(await repeat.json()).toMatchObject({ actionId, state: 'completed' });
    expect(await faults.effects({ tenantId: tenantId(TENANT), actionId })).toEqual({
      ...{ assigned: 1, elsewhere: 0 },
    });
    await faults.balances();
  },
);

async function start(url: string, actionId: string): Promise<Response> {
  const keyFile = path.join(faults.home, 'keys', 'development-tokens.jwk');
  const token = await issueDevelopmentToken(await importSigningKey(readFileSync(keyFile, 'utf8')), {
    tenantId: tenantId(TENANT),
    subject: 'ada',
    scopes: ['factory.actions.run'],
    issuedAt: new Date(),
    lifetimeS: 60,
  });
  return await fetch(`${url}/v1/actions/${actionId}`, {
    method: 'PUT',
    body: JSON.stringify({ capabilityId: 'tickets.create', request: { title: 'Broken lamp' } }),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  });
}
