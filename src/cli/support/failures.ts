/** Failures as one line for people. */
import { WaybillError } from '../../domain/errors';

/** Something that only the command line can come to, with a code of its own. */
export class CommandFailure extends Error {
  readonly code:
    | 'story_failed'
    | 'interrupted'
    | 'action_not_completed'
    | 'delivery_not_acknowledged'
    | 'plan_not_verified'
    | 'counters_differ'
    | 'not_readmitted'
    | 'replay_incomplete'
    | 'cancel_too_late'
    | 'not_conformant'
    | 'not_certified'
    | 'qualification_failed'
    | 'evidence_refused';

  constructor(code: CommandFailure['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** More than anybody reads in one line; what is left out stands in a log. */
const MAX_MESSAGE = 1200;

/** `waybill: <message> (<code>)`, never more than one line. */
export function failureLine(error: unknown): string {
  const message = oneLine(messageOf(error));
  const shown = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)} …` : message;
  return `waybill: ${shown} (${codeOf(error)})`;
}

/** Several lines as one: what follows a colon is its list. */
export function oneLine(text: string): string {
  return text
    .trim()
    .replaceAll(/:\s*\n\s*/g, ': ')
    .replaceAll(/([.;,])\s*\n\s*/g, '$1 ')
    .replaceAll(/\s*\n\s*/g, '; ');
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Several addresses tried at once: the error itself has no message.
  if (error.message === '' && error instanceof AggregateError) return messageOf(error.errors[0]);
  return error.message;
}

function codeOf(error: unknown): string {
  if (error instanceof WaybillError || error instanceof CommandFailure) return error.code;
  return 'internal';
}
