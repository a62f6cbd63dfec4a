/** Actions as the qualification client asks for them. */
import type { Answer } from '../client';
import type { GatewayName, InstanceName, Tenant } from '../site/topology';
import type { ActionFacts, ActionOfTenant } from '../judging/judge';
import { becomes, type CaseContext } from './context';

export interface Wish {
  readonly tenant: Tenant;
  readonly label: string;
  readonly capability: string;
  readonly request: Readonly<Record<string, unknown>>;
  readonly via?: GatewayName;
  /** How long the call waits for the end; 30 s where it is left out. */
  readonly waitMs?: number;
  readonly deadlineMs?: number;
}

export async function ask(context: CaseContext, wish: Wish): Promise<Answer> {
  const { tenant, label, capability, request, via, waitMs = 30_000, deadlineMs } = wish;
  return await context.client.call({
    ...{ tenant, method: 'PUT' },
    path: `/v1/actions/${context.actionId(label)}?waitMs=${waitMs}`,
    body: {
      ...{ capabilityId: capability, request },
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    },
    ...(via === undefined ? {} : { via }),
  });
}

/** Of a mutation that needs an approval; whoever asks for it waits for `approvedOnceAsked`, too. */
const APPROVED_CAPABILITY = 'tickets.publish';
const APPROVAL_PATIENCE_MS = 120_000;

/** To do that once, under a title. */
export function approvedWish(tenant: Tenant, label: string, title = `Of ${label}`): Wish {
  return { tenant, label, capability: APPROVED_CAPABILITY, request: { title } };
}

/**
 * Resolves when the action has been approved by another person than the client, after it was asked for.
 * To be begun with the action's first call, and awaited when something else may go on without it.
 */
export function approvedOnceAsked(context: CaseContext, ref: ActionOfTenant): Promise<void> {
  const approved = approve(context, ref);
  // Whoever awaits it hears of a failure; nobody else need.
  approved.catch(() => undefined);
  return approved;
}

async function approve(context: CaseContext, ref: ActionOfTenant): Promise<void> {
  const { tenant, actionId } = ref;
  await becomes(
    `an approval of ${actionId} is asked for`,
    async () => (await stateOf(context, ref).catch(() => 'unknown')) === 'awaiting_approval',
    APPROVAL_PATIENCE_MS,
  );
  await becomes(`${actionId} is approved`, async () => {
    const path = `/v1/actions/${actionId}/approve`;
    const body = { reason: 'it may be done' };
    const call = { tenant, as: 'approver', method: 'POST', path, body } as const;
    // An answer may get lost with its gateway; asked again it is the same.
    return await context.client.call(call).then(
      ({ status }) => status === 200,
      () => false,
    );
  });
}

/** Asks for an action that is approved meanwhile. */
export async function askApproved(context: CaseContext, wish: Wish): Promise<Answer> {
  const approved = approvedOnceAsked(context, refOf(context, wish.tenant, wish.label));
  const answer = await ask(context, wish);
  await approved;
  return answer;
}

export type ReadWish = Pick<Wish, 'tenant' | 'label' | 'via' | 'waitMs' | 'deadlineMs'> & {
  readonly account: InstanceName;
};

/** The bounded read: of a record that the account has, or does not. */
export async function read(context: CaseContext, wish: ReadWish): Promise<Answer> {
  const { account, ...rest } = wish;
  const request = { recordId: recordOf(account) };
  return await ask(context, { ...rest, capability: 'tickets.read', request });
}

export function recordOf(account: InstanceName): string {
  return `${account}.record-1`;
}

export function refOf(context: CaseContext, tenant: Tenant, label: string): ActionOfTenant {
  return { tenant, actionId: context.actionId(label) };
}

/** The state that the database has of it; `none` where there is no such action. */
export async function stateOf(context: CaseContext, ref: ActionOfTenant): Promise<string> {
  return (await context.judge.action(ref))?.state ?? 'none';
}

/** @throws Error where the database has no such action */
export async function factsOf(context: CaseContext, ref: ActionOfTenant): Promise<ActionFacts> {
  const facts = await context.judge.action(ref);
  if (facts === null) throw new Error(`there is no action ${ref.actionId}`);
  return facts;
}

/** What it has come to: its facts, and what there is of it; `name` says by which names that is observed. */
export async function observeAction(
  context: CaseContext,
  ref: ActionOfTenant,
  name: (what: string) => string,
): Promise<ActionFacts> {
  const facts = await factsOf(context, ref);
  context.observe(name('state'), facts.state);
  context.observe(name('open attempts'), facts.openAttempts);
  await observeRecords(context, ref, name);
  return facts;
}

/** Every count of the action's records, as observations. */
export async function observeRecords(
  context: CaseContext,
  ref: ActionOfTenant,
  name: (what: string) => string = (what) => what,
): Promise<void> {
  const counts = await context.judge.records(ref);
  for (const [what, count] of Object.entries<number>({ ...counts }))
    context.observe(name(what), count);
}
