/** The calls of the HTTP API about bulk replays. */
import type { z } from 'zod';
import type { BulkReplayMove } from '../../domain/bulk-replays';
import {
  BulkReplay,
  BulkReplayPage,
  ReplayItemPage,
  type ListBulkReplaysQuery,
  type ListReplayItemsQuery,
  type PlanReplayBody,
} from '../../schemas/api-bulk-replays';
import { given, newKey } from './api-parameters';
import type { Ask } from './api-transport';

export class ReplaysClient {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  plan(body: PlanReplayBody): Promise<BulkReplay> {
    return this.#ask(BulkReplay, (api, how) =>
      api.POST('/v1/replays', { params: newKey(), body: given(body), ...how }),
    );
  }

  /** @param reason for the audit log; left out: none is given */
  move(jobId: string, move: BulkReplayMove, reason?: string): Promise<BulkReplay> {
    const call = { params: { path: { jobId } }, body: reason === undefined ? {} : { reason } };
    return this.#ask(BulkReplay, (api, how) =>
      api.POST(`/v1/replays/{jobId}/${move}`, { ...call, ...how }),
    );
  }

  show(jobId: string): Promise<BulkReplay> {
    return this.#ask(BulkReplay, (api, how) =>
      api.GET('/v1/replays/{jobId}', { params: { path: { jobId } }, ...how }),
    );
  }

  list(query: z.input<typeof ListBulkReplaysQuery>): Promise<BulkReplayPage> {
    return this.#ask(BulkReplayPage, (api, how) =>
      api.GET('/v1/replays', { params: { query: given(query) }, ...how }),
    );
  }

  items(jobId: string, query: z.input<typeof ListReplayItemsQuery>): Promise<ReplayItemPage> {
    const params = { path: { jobId }, query: given(query) };
    return this.#ask(ReplayItemPage, (api, how) =>
      api.GET('/v1/replays/{jobId}/items', { params, ...how }),
    );
  }
}
