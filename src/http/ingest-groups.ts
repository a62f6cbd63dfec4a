/**
 * What arrives at once is stored at once: while statements of a tenant are under way its further requests
 * wait, and then go together, in one statement and one commit. At low load nobody waits. A request that
 * keeps its group from being stored fails alone: then each of the group is stored by itself.
 */
import { ingestDeliveries, ingestDelivery, type VerifiedRequest } from '../db/deliveries';
import type { Database } from '../db/database';
import { WaybillError } from '../domain/errors';
import type { IngestAnswer } from '../schemas/delivery-rows';

/** Statements of one tenant at once. More would make smaller groups and not be faster. */
const AT_ONCE = 2;
const GROUP_REQUESTS = 64;
const GROUP_BYTES = 4 * 1024 * 1024;

interface Waiting {
  readonly request: VerifiedRequest;
  readonly resolve: (answer: IngestAnswer) => void;
  readonly reject: (reason: unknown) => void;
}

interface Line {
  readonly waiting: Waiting[];
  underWay: number;
}

export class IngestGroups {
  readonly #data: Database;
  /** Of the tenants that have something under way. */
  readonly #lines = new Map<string, Line>();

  constructor(data: Database) {
    this.#data = data;
  }

  /**
   * Stores the request; it is committed when this resolves.
   * @throws WaybillError as `ingestDelivery` does
   */
  async ingest(request: VerifiedRequest): Promise<IngestAnswer> {
    return await new Promise((resolve, reject) => {
      const { tenantId } = request;
      const line = this.#lines.get(tenantId) ?? { waiting: [], underWay: 0 };
      this.#lines.set(tenantId, line);
      line.waiting.push({ request, resolve, reject });
      if (line.underWay < AT_ONCE) void this.#serve(tenantId, line);
    });
  }

  async #serve(tenantId: VerifiedRequest['tenantId'], line: Line): Promise<void> {
    line.underWay += 1;
    while (line.waiting.length > 0) await this.#store(tenantId, takeGroup(line.waiting));
    line.underWay -= 1;
    if (line.underWay === 0) this.#lines.delete(tenantId);
  }

  async #store(tenantId: VerifiedRequest['tenantId'], group: readonly Waiting[]): Promise<void> {
    try {
      const requests = group.map(({ request }) => request);
      const answers = await ingestDeliveries(this.#data, tenantId, requests);
      for (const [at, { resolve, reject }] of group.entries()) {
        const answer = answers[at];
        if (answer === undefined) reject(new WaybillError('internal', 'one was not answered'));
        else resolve(answer);
      }
    } catch (error) {
      if (group.length > 1) await Promise.all(group.map((waiting) => this.#alone(waiting)));
      else for (const { reject } of group) reject(error);
    }
  }

  async #alone({ request, resolve, reject }: Waiting): Promise<void> {
    await ingestDelivery(this.#data, request).then(resolve, reject);
  }
}

function takeGroup(waiting: Waiting[]): Waiting[] {
  let bytes = 0;
  const end = waiting.findIndex(({ request }, at) => {
    bytes += request.payload.length;
    return at > 0 && (at === GROUP_REQUESTS || bytes > GROUP_BYTES);
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
}
