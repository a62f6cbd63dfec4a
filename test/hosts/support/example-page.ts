/** The worked examples as docs/host-protocol.md shows them. */
import type { Examples } from './examples';

/** The section below "Worked examples", up to the next heading of its level. */
export function examplePage(made: Examples): string {
  const { keys, hostDid, body, token, answers, lifecycle, http } = made;
  const publicKey = { ...keys.waybill, d: undefined };
  return [
    'The key that signs tokens is the one of RFC 8037, appendix A.1; its `kid` is its RFC 7638 thumbprint:',
    fenced('json', pretty(publicKey)),
    "The host's is the one of RFC 8032, section 7.1, test 2:",
    fenced('text', hostDid),
    '### An execute',
    'The body of the request:',
    fenced('text', body),
    'The claims, and the token:',
    fenced('json', pretty(token.claims)),
    fenced('text', token.jws),
    'The request:',
    fenced('http', http.execute),
    '### Its answer',
    fenced('json', pretty(answers.succeeded.claims)),
    fenced('http', http.answer),
    '### The same while it is under way',
    `The claims are those, with the outcome`,
    fenced('json', pretty(outcomeOf(answers.running.claims))),
    fenced('text', answers.running.jws),
    '### A refusal',
    'Of the same token, by a host that was asked to reconcile five seconds later, before the token came:',
    fenced('json', pretty(outcomeOf(answers.stale_fence.claims))),
    fenced('text', answers.stale_fence.jws),
    '### Registering',
    fenced('json', pretty(lifecycle.register.claims)),
    fenced('http', http.register),
    'The answer:',
    fenced('http', http.accepted),
    '### A heartbeat',
    'While one action is under way:',
    fenced('json', pretty(lifecycle.heartbeat.claims)),
    fenced('text', lifecycle.heartbeat.jws),
    'Its answer:',
    fenced('json', pretty(lifecycle.heartbeat.reply)),
  ].join('\n\n');
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text.replaceAll('\r\n', '\n')}\n\`\`\``;
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

function outcomeOf(claims: unknown): unknown {
  return (claims as { readonly outcome: unknown }).outcome;
}
