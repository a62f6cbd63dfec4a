/** The vendor of webhooks: signs as GitHub does, and sends again what was not taken. */
import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { LANES, type Lane } from '../../domain/lanes';
import { statusAndCode, type Answer } from '../client';
import { localUrl } from '../site/plans';
import { INGRESSES, SOURCES, type GatewayName, type Source } from '../site/topology';
import type { CaseContext } from './context';
import { request } from 'undici';

const RETRY_MS = 500;
const PATIENCE_MS = 60_000;

/** An event of the vendor, and the subscription that it is posted to, by its lane where that stays as it is. */
export interface PostedEvent {
  readonly label: string;
  readonly lane: Source;
}
export interface VendorEvent extends PostedEvent {
  readonly lane: Lane;
}

/** One of each name for each lane. */
export function inEachLane(...labels: readonly string[]): VendorEvent[] {
  return LANES.flatMap((lane) => labels.map((label) => ({ label, lane })));
}

/** One of this name for each subscription. */
export function toEachSource(label: string): PostedEvent[] {
  return SOURCES.map((lane) => ({ label, lane }));
}

/** The vendor's own id of it. */
export function eventId(context: CaseContext, { label, lane }: PostedEvent): string {
  return context.actionId(`${label}-${lane}`);
}

/** Its bytes, which no other one has. */
export function eventBody(context: CaseContext, event: PostedEvent): string {
  return JSON.stringify({ ref: 'refs/heads/main', id: eventId(context, event) });
}

/** One try; what the ingress said, or why nothing came. */
export async function postOnce(
  context: CaseContext,
  event: PostedEvent,
  via?: GatewayName,
): Promise<Answer> {
  const body = eventBody(context, event);
  const hmac = createHmac('sha256', context.site.keys.vendorSecret).update(body).digest('hex');
  return await context.client.post({
    path: `/webhooks/${INGRESSES[event.lane]}`,
    body,
    headers: {
      'content-type': 'application/json',
      'x-hub-signature-256': `sha256=${hmac}`,
      'x-github-delivery': eventId(context, event),
      'x-github-event': 'push',
    },
    ...(via === undefined ? {} : { via }),
  });
}

export interface Posted {
  readonly accepted: boolean;
  /** Of each try: `202`, `503 storage_unavailable`, or why there was no answer. */
  readonly answers: readonly string[];
}

/** The same event until it is taken, as vendors do. */
export async function postUntilTaken(context: CaseContext, event: PostedEvent): Promise<Posted> {
  const answers: string[] = [];
  for (const began = performance.now(); performance.now() - began < PATIENCE_MS;) {
    const answer = await postOnce(context, event).catch((error: unknown) => {
      return { status: 0, gateway: null, body: { code: String(error) } };
    });
    answers.push(statusAndCode(answer));
    if (answer.status === 202) return { accepted: true, answers };
    await delay(RETRY_MS);
  }
  return { accepted: false, answers };
}

/** All of them at once; those that were taken in the end. */
export async function postEach(
  context: CaseContext,
  events: readonly VendorEvent[],
): Promise<VendorEvent[]> {
  const posted = await Promise.all(events.map((event) => postUntilTaken(context, event)));
  return events.filter((_, no) => posted[no]?.accepted === true);
}

const Records = z.object({
  records: z.array(
    z.object({ deliveryId: z.string().nullable(), sha256: z.string(), status: z.number() }),
  ),
});
export type TargetRecord = z.infer<typeof Records>['records'][number];

/** What the target got, by its own records. */
export async function targetRecords({ site }: CaseContext): Promise<TargetRecord[]> {
  const { body } = await request(`${localUrl(site.ports, 'target')}/control/records`);
  return Records.parse(await body.json()).records;
}
