/** Roles that a token may name in place of scopes, and the scopes that each one stands for. */
import { SCOPES, type Scope } from './scopes';

const ALL = Object.keys(SCOPES) as Scope[];

/** Looks at everything of the tenant, and changes nothing. */
const OBSERVER = ALL.filter((scope) => scope.endsWith('.read'));

/** Mends what is stuck, and says yes or no to what others ask for, too. */
const OPERATOR = ALL.filter(
  (scope) =>
    scope.endsWith('.operate') || scope === 'factory.actions.approve' || OBSERVER.includes(scope),
);

export const ROLES: Readonly<Record<string, readonly Scope[]>> = {
  Observer: OBSERVER,
  Operator: OPERATOR,
  WorkspaceAdmin: [
    ...OPERATOR,
    ...(['factory.connections.admin', 'factory.actions.run'] as const),
    // As far as an action goes, and an approver's signature stands before what is external here, too.
    'factory.deliveries.send',
  ],
  PlatformAdmin: ALL,
};

/** The scopes of the roles; a role that is not known here stands for none. */
export function scopesOf(roles: readonly string[]): Scope[] {
  return roles.flatMap((role) => (Object.hasOwn(ROLES, role) ? (ROLES[role] ?? []) : []));
}
