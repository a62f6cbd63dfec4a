/** What a connector returned, made fit to be stored, signed and read. */
import type { FinalOutcome } from '../../domain/host-protocol';
import { storableText } from '../../domain/plain-text';
import { FinalOutcomeSchema } from '../../schemas/host-messages';
import { isShallow, MAX_NESTING } from '../../schemas/nesting';
import { RESULT_LIMIT_BYTES } from '../protocol/limits';

const DETAIL_CHARS = 2_000;

/**
 * The outcome as JSON has it. A result that is no JSON or does not fit becomes a visible failure whose
 * code says that the effect is there; nobody could read the result itself.
 * @throws for what is no outcome at all, from code without types: what it did is then not known
 */
export function storable(outcome: FinalOutcome): FinalOutcome {
  if (!isOutcome(outcome)) throw new Error('the connector returned no outcome');
  switch (outcome.kind) {
    case 'cancelled':
      return { kind: 'cancelled' };
    case 'failed': {
      const detail = storableText(outcome.detail.slice(0, DETAIL_CHARS));
      const failed = FinalOutcomeSchema.safeParse({ ...outcome, detail });
      return failed.success
        ? failed.data
        : { kind: 'failed', errorCode: 'connector_error', detail };
    }
    case 'succeeded':
      return storableResult(outcome.result);
  }
}

function isOutcome(value: unknown): boolean {
  const kinds: readonly unknown[] = ['succeeded', 'failed', 'cancelled'];
  return (
    typeof value === 'object' && value !== null && 'kind' in value && kinds.includes(value.kind)
  );
}

function storableResult(result: unknown): FinalOutcome {
  const text = textOf(result);
  if (text === null) return invalid('is no JSON');
  const bytes = Buffer.byteLength(text);
  if (bytes > RESULT_LIMIT_BYTES) {
    const detail = `the effect is there, but its result has ${bytes} bytes`;
    return { kind: 'failed', errorCode: 'result_too_large', detail };
  }
  const json = JSON.parse(text) as unknown;
  if (isShallow(json, MAX_NESTING)) return { kind: 'succeeded', result: json };
  return invalid(`is nested deeper than ${MAX_NESTING} levels`);
}

function invalid(why: string): FinalOutcome {
  const detail = `the effect is there, but its result ${why}`;
  return { kind: 'failed', errorCode: 'result_invalid', detail };
}

function textOf(value: unknown): string | null {
  try {
    // Undefined for a function and for undefined, against its declared type.
    const text = JSON.stringify(value) as string | undefined;
    return text ?? null;
  } catch {
    return null;
  }
}
