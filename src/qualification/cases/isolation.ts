/** A tenant asks its own host for another tenant's record. */
import { statusAndCode } from '../client';
import { factsOf, read, recordOf, refOf } from './actions';
import type { Proof } from './context';

export const tenantIsolation: Proof = async (context) => {
  const [fault] = context.faults;
  if (fault !== undefined) await context.inflict(fault);
  const foreign = recordOf('acme-tickets');
  const disclosedBefore = await context.judge.recordReads(foreign, true);
  const refusedBefore = await context.judge.recordReads(foreign, false);
  const answer = await read(context, {
    tenant: 'globex',
    account: 'acme-tickets',
    label: 'foreign',
  });
  const facts = await factsOf(context, refOf(context, 'globex', 'foreign'));
  context.observe('state of the read', facts.state);
  context.observe('its error code', facts.errorCode ?? 'none');
  context.observe('its result', facts.result === null ? 'none' : 'there');
  const disclosed = (await context.judge.recordReads(foreign, true)) - disclosedBefore;
  const refused = (await context.judge.recordReads(foreign, false)) - refusedBefore;
  context.observe('records that the provider disclosed', disclosed);
  context.observe('requests that the provider refused', refused);
  context.observe('a value stands in the answer', JSON.stringify(answer.body).includes('"value"'));
  const path = `/v1/actions/${context.actionId('foreign')}`;
  const other = await context.client.call({ tenant: 'acme', method: 'GET', path });
  context.observe('what the other tenant sees of the action', statusAndCode(other));
};
