/** The states of a connector version, and from which to which a publication may move it. */

export const CONNECTOR_STATUSES = [
  'draft',
  'certified',
  'active',
  'deprecated',
  'revoked',
] as const;
export type ConnectorStatus = (typeof CONNECTOR_STATUSES)[number];

/** A version may be published in any state; afterwards these are the steps. */
export const CONNECTOR_TRANSITIONS: Readonly<Record<ConnectorStatus, readonly ConnectorStatus[]>> =
  {
    // With its evidence at hand it becomes certified and active in one step.
    draft: ['certified', 'active'],
    certified: ['active', 'revoked'],
    active: ['deprecated', 'revoked'],
    deprecated: ['revoked'],
    revoked: [],
  };

/** Why a version may not move, and what to do instead; null: it may, or stays. */
export function connectorStepProblem(
  { version, from }: { readonly version: string; readonly from: ConnectorStatus },
  to: ConnectorStatus,
): string | null {
  if (from === to || CONNECTOR_TRANSITIONS[from].includes(to)) return null;
  if (from === 'revoked') return `version ${version} was revoked, for good; publish a new version`;
  if (to === 'revoked') return 'a draft cannot be revoked; leave it a draft';
  if (to === 'deprecated') {
    return `version ${version} is ${from} and was never active; only an active one is deprecated`;
  }
  const stay = to === 'draft' && from === 'certified' ? '; leave the status out, or' : ';';
  return `cannot go back from ${from} to ${to}${stay} publish a new version`;
}
