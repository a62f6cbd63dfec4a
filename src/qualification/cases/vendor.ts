/** The vendor of webhooks: signs as GitHub does, and sends again what was not taken. */
import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { statusAndCode, type Answer } from '../client';
import { INGRESS } from '../site/topology';
import { localUrl } from '../site/plans';
import type { GatewayName } from '../site/topology';
import type { CaseContext } from './context';
import { request } from 'undici';

const RETRY_MS = 500;
const PATIENCE_MS = 60_000;

export function eventId(context: CaseContext, label: string): string {
  return context.actionId(label);
}

/** One try; what the ingress said, or why nothing came. */
export async function postOnce(
  context: CaseContext,
  label: string,
  via?: GatewayName,
): Promise<Answer> {
  const id = eventId(context, label);
  const body = JSON.stringify({ ref: 'refs/heads/main', id });
  const hmac = createHmac('sha256', context.site.keys.vendorSecret).update(body).digest('hex');
  return await context.client.post({
    path: `/webhooks/${INGRESS}`,
    body,
    headers: {
      'content-type': 'application/json',
      'x-hub-signature-256': `sha256=${hmac}`,
      'x-github-delivery': id,
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
export async function postUntilTaken(context: CaseContext, label: string): Promise<Posted> {
  const answers: string[] = [];
  for (const began = performance.now(); performance.now() - began < PATIENCE_MS;) {
    const answer = await postOnce(context, label).catch((error: unknown) => {
      return { status: 0, gateway: null, body: { code: String(error) } };
    });
    answers.push(statusAndCode(answer));
    if (answer.status === 202) return { accepted: true, answers };
    await delay(RETRY_MS);
  }
  return { accepted: false, answers };
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
