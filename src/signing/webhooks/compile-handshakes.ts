/** Handshakes made ready: templates split, signers chosen. */
import type { Handshake, HandshakeCondition } from '../../schemas/webhook-schemes/handshakes';
import type { AnswerSignature } from '../../schemas/webhook-schemes/answer-signature';
import {
  parseAnswerTemplate,
  parseMessageTemplate,
  type AnswerPart,
  type MessagePart,
} from '../../schemas/webhook-schemes/message';
import { compileMessage, type CompiledMessage } from './compile-message';
import type { MessageSigner } from './kinds';
import { digestSigner } from './kinds/digest';
import { hmacSigner } from './kinds/hmac';
import { seedSigner } from './kinds/seed-signer';

export interface CompiledCondition extends HandshakeCondition {
  /** The parts of `equals`; null where it only must be there, or must not. */
  readonly expected: readonly MessagePart[] | null;
}

/** What must be computed with a secret, and how it is written. */
export interface AnswerSigner {
  readonly message: CompiledMessage;
  readonly sign: MessageSigner;
  readonly encoding: 'hex' | 'base64' | 'base64url';
  readonly prefix: string;
}

export interface CompiledHandshake {
  readonly handshake: Handshake;
  readonly when: readonly CompiledCondition[];
  readonly require: readonly CompiledCondition[];
  readonly signer: AnswerSigner | null;
  readonly body: readonly AnswerPart[] | null;
}

export function compileHandshakes(handshakes: readonly Handshake[]): CompiledHandshake[] {
  return handshakes.map((handshake) => ({
    handshake,
    when: (handshake.when ?? []).map(compileCondition),
    require: (handshake.require ?? []).map(compileCondition),
    signer: handshake.signature === undefined ? null : compileSigner(handshake.signature),
    body: handshake.answer.body === undefined ? null : parsedBody(handshake.answer.body),
  }));
}

/** Throws only for what the schema would have refused, as `compileScheme` does. */
export function compileSigner(scheme: AnswerSignature): AnswerSigner {
  const { signature } = scheme;
  return {
    message: compileMessage(scheme),
    sign: signerOf(scheme),
    encoding: signature.encoding,
    prefix: signature.format === 'prefix' ? signature.prefix : '',
  };
}

function signerOf(scheme: AnswerSignature): MessageSigner {
  switch (scheme.kind) {
    case 'hmac':
      return hmacSigner(scheme);
    case 'digest':
      return digestSigner(scheme);
    case 'ed25519-seed-from-secret':
      return seedSigner(scheme);
  }
}

function compileCondition(condition: HandshakeCondition): CompiledCondition {
  if (condition.equals === undefined) return { ...condition, expected: null };
  const template = parseMessageTemplate(condition.equals);
  if (!template.ok) throw new Error(`a scheme was not parsed before use: ${template.problem}`);
  return { ...condition, expected: template.parts };
}

function parsedBody(body: string): readonly AnswerPart[] {
  const template = parseAnswerTemplate(body);
  if (!template.ok) throw new Error(`a scheme was not parsed before use: ${template.problem}`);
  return template.parts;
}
