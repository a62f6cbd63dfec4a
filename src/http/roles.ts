/** Roles that a token may name in place of scopes, and the scopes that each one stands for. */
import { SCOPES, type Scope } from './scopes';

const ALL = Object.keys(SCOPES) as Scope[];

/** Looks at everything of the tenant, and changes nothing. */
const OBSERVER = ALL.filter((scope) => scope.endsWith('.read'));

/** Mends what is stuck, too. */
const OPERATOR = ALL.filter((scope) => scope.endsWith('.operate') || OBSERVER.includes(scope));

export const ROLES: Readonly<Record<string, readonly Scope[]>> = {
  Observer: OBSERVER,
  Operator: OPERATOR,
  WorkspaceAdmin: [...OPERATOR, 'factory.connections.admin', 'factory.actions.run'],
  PlatformAdmin: ALL,
};

/** The scopes of the roles; a role that is not known here stands for none. */
export function scopesOf(roles: readonly string[]): Scope[] {
  return roles.flatMap((role) => (Object.hasOwn(ROLES, role) ? (ROLES[role] ?? []) : []));
}
