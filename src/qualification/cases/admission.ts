/** The statement that admitted a connector version is followed by one that revokes it. */
import { statusAndCode } from '../client';
import { ask, read, refOf, stateOf } from './actions';
import type { Proof } from './context';

export const admissionRevocation: Proof = async (context) => {
  const [publish] = context.faults;
  if (publish !== undefined) await context.inflict(publish);
  context.observe('status of the version', await context.judge.versionStatus('tickets'));
  const answer = await read(context, { tenant: 'acme', account: 'acme-tickets', label: 'revoked' });
  context.observe('answer to the read', statusAndCode(answer));
  const stored = await context.judge.action(refOf(context, 'acme', 'revoked'));
  context.observe('actions stored', stored === null ? 0 : 1);
  await ask(context, {
    ...{ tenant: 'acme', label: 'not-revoked', capability: 'reports.build' },
    request: { title: 'Of the other connector', durationMs: 0 },
  });
  const other = await stateOf(context, refOf(context, 'acme', 'not-revoked'));
  context.observe('state of an action of the other connector', other);
};
