/** Gateways and workers are killed at boundaries of deliveries of both lanes; the vendor sends again. */
import { targetAnswers } from '../inflict';
import { judgeEvent, liveOf, recordsOf } from './events';
import { inWindow } from '../families/family';
import { GATEWAYS, WORKERS } from '../site/topology';
import type { CaseContext, Proof } from './context';
import { eventId, postOnce, postUntilTaken, type VendorEvent } from './vendor';
import { crashesOf, CrashWindow, type Crash } from './windows';

export const deliveryCrashWindows: Proof = async (context) => {
  for (const crash of crashesOf(context)) await deliveryWindow(context, crash);
  await startDead(context, [...GATEWAYS, ...WORKERS]);
};

async function startDead(
  { site }: CaseContext,
  names: readonly (typeof GATEWAYS | typeof WORKERS)[number][],
): Promise<void> {
  const dead = names.map((name) => site.process(name)).filter(({ pid }) => pid === undefined);
  await Promise.all(dead.map((one) => one.start()));
}

async function deliveryWindow(context: CaseContext, crash: Crash): Promise<void> {
  const { site } = context;
  const events = (crash.lanes ?? []).map((lane) => new EventWindow(context, crash, lane));
  const doomed = site.node(crash.process === 'gateway-1' ? 'gateway-1' : 'worker-1');
  const isWorker = doomed.name === 'worker-1';
  await startDead(context, isWorker ? GATEWAYS : WORKERS);
  await Promise.all([doomed.stop(), isWorker ? site.process('worker-2').stop() : null]);
  if (crash.targetStatus !== undefined) await targetAnswers(site, crash.targetStatus);
  // What it hands over is not carried on by a workflow of its own.
  const holds = crash.boundary === 'express.started' ? ['attempt.begun'] : [];
  await doomed.startWith({ WAYBILL_HOLD_AT: [crash.boundary, ...holds].join(',') });
  const first = Promise.all(events.map((event) => event.postFirst()));
  const marker = await doomed.marker(crash.boundary, events.length);
  if (crash.targetStatus !== undefined) await targetAnswers(site, null);
  if (isWorker) await site.process('worker-2').start();
  const durable = await Promise.all(events.map((event) => event.durable()));
  await context.inflict(crash);
  for (const [no, event] of events.entries()) event.window.checkpoint(marker, durable[no] ?? {});
  await first;
  await Promise.all(events.map((event) => event.postAgainAndJudge()));
}

/** The event of one lane that is at the boundary. */
class EventWindow {
  readonly window: CrashWindow;
  readonly #context: CaseContext;
  readonly #crash: Crash;
  readonly #event: VendorEvent;

  constructor(context: CaseContext, crash: Crash, lane: VendorEvent['lane']) {
    this.window = new CrashWindow(context, crash.boundary, lane);
    this.#context = context;
    this.#crash = crash;
    this.#event = { label: `event-${crash.boundary}`, lane };
  }

  /** It may get no answer: that is noted. */
  async postFirst(): Promise<void> {
    await postOnce(this.#context, this.#event, 'gateway-1').then(
      ({ status, body }) => {
        this.window.tried(status, body);
      },
      (error: unknown) => {
        this.window.tried(null, String(error));
      },
    );
  }

  /** What is there of it; a gateway says nothing of what workers do meanwhile. */
  async durable(): Promise<Readonly<Record<string, number>>> {
    const rows = await this.#context.judge.deliveriesOf(eventId(this.#context, this.#event));
    const deliveries = { 'deliveries when it was killed': rows.length };
    if (this.#crash.process === 'gateway-1') return deliveries;
    const requests = (await recordsOf(this.#context, this.#event)).length;
    return { ...deliveries, 'requests at the target when it was killed': requests };
  }

  async postAgainAndJudge(): Promise<void> {
    const { accepted, answers } = await postUntilTaken(this.#context, this.#event);
    this.window.tried(accepted ? 202 : null, answers);
    await judgeEvent(this.#context, this.#event, (what) => inWindow(this.#crash.boundary, what));
    const [delivery] = await liveOf(this.#context, this.#event);
    const receipts = await this.#context.judge.receiptsOf(delivery?.id ?? '');
    this.window.result({ delivery, receipts });
  }
}
