/** What a token narrows of its scopes: which capabilities it may use, and how far their effects may go. */
import { SIDE_EFFECTS, type SideEffect } from '../domain/capabilities';
import { WaybillError } from '../domain/errors';
import type { Principal, TokenLimits } from './tokens';

/** A capability as far as it is known; a class that is not known is above every limit. */
export interface UsedCapability {
  readonly capabilityId: string;
  readonly sideEffect: SideEffect | null;
}

/** Whether the token has any limit. */
export function isNarrowed({ limits }: Principal): boolean {
  return limits.capabilities !== null || limits.maxSideEffect !== null;
}

/** Whether the token of this principal may use the capability. */
export function permits({ limits }: Principal, used: UsedCapability): boolean {
  return permitsId(limits, used.capabilityId) && permitsClass(limits, used.sideEffect);
}

/**
 * The same, for calls that end where it may not.
 * @throws WaybillError `capability_not_permitted`, which names the limit
 */
export function requirePermitted(principal: Principal, used: UsedCapability): void {
  requirePermittedId(principal, used.capabilityId);
  requireClass(principal, used.sideEffect);
}

/** The same, of what is no capability, or not only. @throws WaybillError `capability_not_permitted` */
export function requireClass({ limits }: Principal, sideEffect: SideEffect | null): void {
  if (permitsClass(limits, sideEffect)) return;
  const detail = `The token allows side effects up to the class ${limits.maxSideEffect ?? ''} only.`;
  throw new WaybillError('capability_not_permitted', detail);
}

/** The same, where its class is not known yet. @throws WaybillError `capability_not_permitted` */
export function requirePermittedId({ limits }: Principal, capabilityId: string): void {
  if (permitsId(limits, capabilityId)) return;
  const detail = `The token allows the capabilities ${(limits.capabilities ?? []).join(', ')} only.`;
  throw new WaybillError('capability_not_permitted', detail);
}

function permitsId({ capabilities }: TokenLimits, id: string): boolean {
  return capabilities === null || capabilities.some((pattern) => matches(pattern, id));
}

function permitsClass({ maxSideEffect }: TokenLimits, sideEffect: SideEffect | null): boolean {
  if (maxSideEffect === null) return true;
  if (sideEffect === null) return false;
  return SIDE_EFFECTS.indexOf(sideEffect) <= SIDE_EFFECTS.indexOf(maxSideEffect);
}

function matches(pattern: string, id: string): boolean {
  return pattern.endsWith('*') ? id.startsWith(pattern.slice(0, -1)) : id === pattern;
}
