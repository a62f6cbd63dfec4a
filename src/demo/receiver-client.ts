/** Asks the demo receiver what it got, and tells it how to answer. */
import {
  ANSWERS_PATH,
  RECORDS_PATH,
  ReceiverRecords,
  type ReceiverAnswer,
  type ReceiverRecord,
} from './receiver-records';

const TIMEOUT_MS = 10_000;

export class ReceiverClient {
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
  }

  /** Every request with this delivery id, oldest first. */
  async records(deliveryId: string): Promise<readonly ReceiverRecord[]> {
    const query = new URLSearchParams({ deliveryId });
    const answer = await this.#call(`${RECORDS_PATH}?${query.toString()}`, { method: 'GET' });
    return ReceiverRecords.parse(await answer.json()).records;
  }

  async answer(answer: ReceiverAnswer): Promise<void> {
    await this.#call(ANSWERS_PATH, { method: 'PUT', body: JSON.stringify(answer) });
  }

  async #call(path: string, request: RequestInit): Promise<Response> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await fetch(`${this.#base}${path}`, { ...request, signal });
    if (!answer.ok) throw new Error(`the demo receiver answered ${answer.status} to ${path}`);
    return answer;
  }
}
