/** A message template made ready for many requests. */
import { parseMessageTemplate, type MessagePart } from '../../schemas/webhook-schemes/message';
import type { AnySignatureField, TimestampField } from '../../schemas/webhook-schemes/fields';

export type CompiledPart =
  { readonly token: 'text'; readonly bytes: Uint8Array } | Exclude<MessagePart, { token: 'text' }>;

export interface CompiledMessage {
  readonly parts: readonly CompiledPart[];
  readonly usesSecret: boolean;
  readonly usesTimestamp: boolean;
  /** Every item of a batch has a message and a signature of its own. */
  readonly ofItems: boolean;
  /** What is signed is read from the body instead of being its bytes. */
  readonly readsBody: boolean;
  /** The header that `{id}` stands for. */
  readonly idHeader: string;
  /** In lower case, where the time is in a header that the request's own list must name. */
  readonly timestampHeader: string | null;
  readonly bodyHashQuery: string | null;
  /** The form field that holds the signature: it does not sign itself. */
  readonly ownParam: string | null;
}

/** What a message needs to know of its scheme. */
export interface MessageSource {
  readonly message: string;
  readonly signature: AnySignatureField;
  readonly timestamp?: TimestampField | undefined;
  readonly id_header?: string | undefined;
  readonly body_hash_query?: string | undefined;
}

/** Throws only for a template that the schema would have refused, which is a fault of the program. */
export function compileMessage(source: MessageSource): CompiledMessage {
  const template = parseMessageTemplate(source.message);
  if (!template.ok) throw new Error(`a scheme was not parsed before use: ${template.problem}`);
  const uses = (...tokens: readonly MessagePart['token'][]): boolean =>
    template.parts.some(({ token }) => tokens.includes(token));
  const { signature, timestamp, id_header = '', body_hash_query = null } = source;
  const inHeader = timestamp?.location === 'header' && timestamp.tolerance_s !== null;
  const listedOnly = inHeader && !uses('timestamp');
  return {
    parts: template.parts.map(compilePart),
    usesSecret: uses('secret'),
    usesTimestamp: uses('timestamp'),
    ofItems: uses('adyen_item'),
    readsBody: uses('json', 'adyen_item', 'sns') && !uses('body'),
    idHeader: id_header,
    timestampHeader: listedOnly ? timestamp.name.toLowerCase() : null,
    bodyHashQuery: body_hash_query,
    ownParam: signature.location === 'param' ? signature.name : null,
  };
}

function compilePart(part: MessagePart): CompiledPart {
  return part.token === 'text' ? { token: 'text', bytes: Buffer.from(part.text, 'utf8') } : part;
}
