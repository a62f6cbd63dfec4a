/** The calls of the HTTP API by which people decide: approvals, and what became of an action. */
import type { z } from 'zod';
import {
  ApprovalAnswered,
  ResolveAnswer,
  type ResolveBody,
} from '../../schemas/api-action-decisions';
import { ApprovalPage, type ListApprovalsQuery } from '../../schemas/api-approvals';
import { given } from './api-parameters';
import type { Ask } from './api-transport';

export class DecisionsClient {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  listApprovals(query: z.input<typeof ListApprovalsQuery>): Promise<ApprovalPage> {
    return this.#ask(ApprovalPage, (api, how) =>
      api.GET('/v1/approvals', { params: { query: given(query) }, ...how }),
    );
  }

  decide(actionId: string, verb: 'approve' | 'deny', reason: string): Promise<ApprovalAnswered> {
    const call = { params: { path: { actionId } }, body: { reason } };
    return this.#ask(ApprovalAnswered, (api, how) =>
      verb === 'approve'
        ? api.POST('/v1/actions/{actionId}/approve', { ...call, ...how })
        : api.POST('/v1/actions/{actionId}/deny', { ...call, ...how }),
    );
  }

  resolve(actionId: string, body: z.input<typeof ResolveBody>): Promise<ResolveAnswer> {
    const params = { path: { actionId } };
    return this.#ask(ResolveAnswer, (api, how) =>
      api.POST('/v1/actions/{actionId}/resolve', { params, body, ...how }),
    );
  }
}
