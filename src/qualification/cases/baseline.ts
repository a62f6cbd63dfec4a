/** The eight operations that must be right before anything is broken, and the topology behind them. */
import { z } from 'zod';
import { statusAndCode, type Answer } from '../client';
import type { GatewayName, Tenant } from '../site/topology';
import { ask, recordOf, refOf, stateOf, type Wish } from './actions';
import { becomes, type CaseContext, type Proof } from './context';
import { observeCredentials } from './credentials';

export interface Operation {
  readonly no: number;
  readonly operation: string;
  readonly tenant: Tenant;
  readonly gateway: string | null;
  readonly at: string;
  readonly status: 'passed' | 'failed';
  readonly answer: string;
  /** The file with the whole answer. */
  readonly response: string;
}

const Listed = z.object({ capabilities: z.array(z.object({ capabilityId: z.string() })) });
const Plan = z.object({ verified: z.boolean(), snapshotFencing: z.boolean() });

export const baseline: Proof = async (context) => {
  await becomes('four replicas are ready', async () => (await context.judge.readyReplicas()) === 4);
  const book = new OperationBook(context);
  for (const wish of NATIVE_CALLS) await book.nativeCall(wish);
  await book.query('tenant capability query', 'acme', 'tickets.read', true);
  await book.query('signed catalog query, allowed tenant', 'acme', 'reports.build', true);
  await book.query('signed catalog query, isolated tenant', 'globex', 'reports.build', false);
  await book.plan();
  const passed = book.operations.filter(({ status }) => status === 'passed').length;
  context.observe('operations that passed', passed);
  context.observe('ready replicas with a lease', await context.judge.readyReplicas());
  await observeCredentials(context);
};

const NATIVE_CALLS: readonly (Wish & { readonly via: GatewayName })[] = [
  {
    ...{ tenant: 'acme', label: 'baseline-1', via: 'gateway-1' },
    ...{ capability: 'tickets.create', request: { title: 'A lamp is broken' } },
  },
  {
    ...{ tenant: 'acme', label: 'baseline-2', via: 'gateway-2' },
    ...{ capability: 'reports.build', request: { title: 'Lamps', durationMs: 50 } },
  },
  {
    ...{ tenant: 'globex', label: 'baseline-3', via: 'gateway-1' },
    ...{ capability: 'tickets.read', request: { recordId: recordOf('globex-tickets') } },
  },
  {
    ...{ tenant: 'globex', label: 'baseline-4', via: 'gateway-2' },
    ...{ capability: 'tickets.create_keyed', request: { title: 'A door is stuck' } },
  },
];

class OperationBook {
  readonly operations: Operation[] = [];
  readonly #context: CaseContext;

  constructor(context: CaseContext) {
    this.#context = context;
  }

  async nativeCall(wish: Wish & { readonly via: GatewayName }): Promise<void> {
    const answer = await ask(this.#context, wish);
    const state = await stateOf(this.#context, refOf(this.#context, wish.tenant, wish.label));
    const passed = answer.status === 200 && answer.gateway === wish.via && state === 'completed';
    this.#note(`signed call of ${wish.capability}`, wish.tenant, answer, passed);
  }

  async query(
    operation: string,
    tenant: Tenant,
    capability: string,
    visible: boolean,
  ): Promise<void> {
    const path = `/v1/capabilities?capabilityId=${capability}&limit=10`;
    const answer = await this.#context.client.call({ tenant, method: 'GET', path });
    const listed = Listed.safeParse(answer.body);
    const ids = listed.success ? listed.data.capabilities.map((one) => one.capabilityId) : null;
    const passed = answer.status === 200 && ids?.join() === (visible ? capability : '');
    this.#note(operation, tenant, answer, passed);
  }

  async plan(): Promise<void> {
    const steps = [
      {
        stepId: 'read',
        capabilityId: 'tickets.read',
        request: { recordId: recordOf('acme-tickets') },
      },
      {
        ...{ stepId: 'create', capabilityId: 'tickets.create', dependsOn: ['read'] },
        request: { title: 'What was read' },
      },
    ];
    const answer = await this.#context.client.call({
      ...{ tenant: 'acme', method: 'POST', path: '/v1/plans/verify', body: { steps } },
    });
    const plan = Plan.safeParse(answer.body);
    const passed = plan.success && plan.data.verified && plan.data.snapshotFencing;
    this.#note('signed orchestration plan', 'acme', answer, passed);
  }

  #note(operation: string, tenant: Tenant, answer: Answer, passed: boolean): void {
    const no = this.operations.length + 1;
    const response = `qualification/responses/${no}.json`;
    this.#context.keep(response, answer.body);
    this.operations.push({
      ...{ no, operation, tenant, gateway: answer.gateway, at: new Date().toISOString() },
      ...{ status: passed ? 'passed' : 'failed', answer: statusAndCode(answer), response },
    });
    this.#context.keep('qualification/operations.jsonl', this.operations);
  }
}
