/** What an ingress answers: our own answer to a delivery, or the text that the vendor wants. */
import type { FastifyReply } from 'fastify';
import type { IngressAnswer } from '../schemas/api-ingress';
import type { AnswerContentType, DeliveryAnswer } from '../schemas/webhook-schemes/handshakes';

export type IngressReply =
  | { readonly kind: 'delivery'; readonly answer: IngressAnswer }
  | {
      readonly kind: 'fixed';
      readonly status: number;
      /** Null: no body. */
      readonly contentType: AnswerContentType | null;
      readonly body: string;
    };

/** The scheme's own answer to a delivery. */
export function fixedReply({ status, content_type, body }: DeliveryAnswer): IngressReply {
  return { kind: 'fixed', status, contentType: content_type ?? null, body: body ?? '' };
}

/** Never a page: the content type is plain text or JSON, and browsers are told not to guess. */
export async function sendReply(reply: FastifyReply, answer: IngressReply): Promise<FastifyReply> {
  if (answer.kind === 'delivery') return await reply.code(202).send(answer.answer);
  const { status, contentType, body } = answer;
  const sent = reply.code(status).header('cache-control', 'no-store');
  if (contentType === null) return await sent.send();
  return await sent.header('content-type', `${contentType}; charset=utf-8`).send(Buffer.from(body));
}
