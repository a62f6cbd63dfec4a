/** Actions as the qualification client asks for them. */
import type { Answer } from '../client';
import type { GatewayName, InstanceName, Tenant } from '../site/topology';
import type { ActionFacts, ActionOfTenant } from '../judging/judge';
import type { CaseContext } from './context';

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
