/** A mutation that was completed is asked for again, with its host dead and with it back. */
import { z } from 'zod';
import { approvedWish, ask, askApproved, factsOf, observeRecords, refOf } from './actions';
import { replicaReady, type Proof } from './context';

const WISH = approvedWish('globex', 'replayed', 'Once and no more');
const Answered = z.object({ result: z.object({ result: z.unknown() }).nullable() });

export const idempotentReplay: Proof = async (context) => {
  const [kill] = context.faults;
  const first = await askApproved(context, WISH);
  if (kill !== undefined) await context.inflict(kill);
  const whileDead = await ask(context, { ...WISH, via: 'gateway-2' });
  await context.site.process('host-globex-tickets-1').start();
  await replicaReady(context, 'globex-tickets-1');
  const afterwards = await ask(context, { ...WISH, via: 'gateway-1' });
  const results = [first, whileDead, afterwards].map(({ body }) => {
    const answered = Answered.safeParse(body);
    return JSON.stringify(answered.success ? answered.data.result : null);
  });
  const isSame = results[0] !== 'null' && new Set(results).size === 1;
  context.observe('the same result is answered each time', isSame);
  const ref = refOf(context, WISH.tenant, WISH.label);
  context.observe('open attempts', (await factsOf(context, ref)).openAttempts);
  await observeRecords(context, ref);
};
