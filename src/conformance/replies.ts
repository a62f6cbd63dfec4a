/** What came back of a call, as far as it can be believed, and in words. */
import type { HostAnswerClaims, HostVerdict } from '../domain/host-protocol';
import type { Exchanged } from '../hosts/client/exchange';

export type Reply =
  /** Signed by the host's key, and about this request. */
  | {
      readonly kind: 'signed';
      readonly status: number;
      readonly claims: HostAnswerClaims;
      readonly verdict: HostVerdict;
    }
  /** An HTTP answer that is no signed answer to this request; `flaw` says why not. */
  | {
      readonly kind: 'unsigned';
      readonly status: number;
      readonly flaw: string;
      readonly text: string;
    }
  | { readonly kind: 'none'; readonly detail: string };

const MOST_TEXT = 600;

export function noReply(exchanged: Exclude<Exchanged, { kind: 'received' }>): Reply {
  return { kind: 'none', detail: exchanged.detail };
}

export function replyText(reply: Reply): string {
  switch (reply.kind) {
    case 'signed':
      return `${reply.status}, signed: ${verdictText(reply.verdict)}`;
    case 'unsigned':
      return `${reply.status}, ${reply.flaw}: ${reply.text}`;
    case 'none':
      return `no answer: ${reply.detail}`;
  }
}

export function verdictText(verdict: HostVerdict): string {
  switch (verdict.kind) {
    case 'succeeded':
      return `succeeded ${JSON.stringify(verdict.result)}`;
    case 'failed':
      return `failed ${verdict.errorCode} (${verdict.detail})`;
    case 'refused': {
      const fence =
        verdict.highest_fence === null ? '' : `, highest_fence ${verdict.highest_fence}`;
      return `refused ${verdict.refusal}, started ${String(verdict.started)}${fence}`;
    }
    case 'cancelled':
    case 'running':
    case 'not_started':
    case 'unknown':
      return verdict.kind;
  }
}

/** Printable and short: what it holds comes from the host. */
export function bounded(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cs}\s]+/gu, ' ').trim();
  if (line.length <= MOST_TEXT) return line;
  // Not within a character: Postgres stores no half of one.
  return `${line.slice(0, MOST_TEXT).replace(/\p{Cs}$/u, '')}…`;
}
