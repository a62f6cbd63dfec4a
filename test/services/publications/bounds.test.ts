/**
 * What a publication may be long or many of: a real Postgres, the pool of the role waybill_control.
 */
import { lockPublication, lockPublisher } from '../../../src/db/publications';
import { account, binding, capability, fleetOf, tracker } from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';

const { db, apply, refusal } = publishing();

test('a publisher may think for a minute, until routing waits for it', async () => {
  const patience: unknown[] = [];
  await db()
    .as('waybill_control')
    .transaction(async (run) => {
      const ask = async () => {
        const text = `select current_setting('idle_in_transaction_session_timeout') as bound`;
        patience.push((await run({ name: 'test_patience', text }, []))[0]?.['bound']);
      };
      await ask();
      expect(await lockPublisher(run, 1_000)).toBe(true);
      await ask();
      expect(await lockPublication(run, 1_000)).toBe(true);
      await ask();
    });
  expect(patience).toEqual(['15s', '1min', '15s']);
});

test('no more accounts are bound to a capability than routing looks at', async () => {
  const names = Array.from({ length: 66 }, (_, nth) => `a${100 + nth}`);
  const bindings = names.map((id) => binding(`instance: ${id}`, 'spread: true'));
  await apply(fleetOf(capability(), tracker(), ...names.map((id) => account(`id: ${id}`))));
  await apply(fleetOf(...bindings.slice(0, 63)));
  const problem = (count: number) =>
    `capability: tenant acme would have ${count} enabled bindings of tickets.create; ` +
    'at most 64 are routed to, so disable some';
  expect(await refusal(fleetOf(...bindings))).toEqual(
    ['a163', 'a164', 'a165'].map((id) => `Binding acme/tickets.create@${id} ${problem(66)}`),
  );
  await apply(fleetOf(bindings[63] ?? ''));
  const off = binding('instance: a164', 'spread: true', 'enabled: false');
  await apply(off);
  const on = binding('instance: a164', 'spread: true', 'policyRevision: 2');
  expect(await refusal(on)).toEqual([`Binding acme/tickets.create@a164 ${problem(65)}`]);
  // One that serves is changed as ever, and a place that becomes free may be taken.
  await apply(binding('instance: a100', 'spread: true', 'spill: capacity', 'policyRevision: 2'));
  await apply(
    fleetOf(on, binding('instance: a101', 'spread: true', 'enabled: false', 'policyRevision: 2')),
  );
});
