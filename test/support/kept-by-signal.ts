/** What a signal holds on to: its listeners, and the signals that were made of it. */
import { getEventListeners } from 'node:events';

/** Node shows the second only as a set under a symbol of its own. */
export function keptBySignal(signal: AbortSignal): number {
  const sets = Object.getOwnPropertySymbols(signal)
    .map((name): unknown => Reflect.get(signal, name))
    .filter((value): value is { readonly size: number } => isSet(value));
  const dependants = sets.reduce((sum, { size }) => sum + size, 0);
  return getEventListeners(signal, 'abort').length + dependants;
}

/** Also one of another realm, as Node's own are in a test. */
function isSet(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'add' in value && 'size' in value;
}
