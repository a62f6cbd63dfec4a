/**
 * Checks of a Connector document: its version never changes, its status only moves forward, what it
 * offers is there.
 */
import type { ConnectorDocument } from '../../../schemas/fleet/documents';
import { CONNECTOR_STATUSES } from '../../../schemas/fleet/documents';
import type { FleetMistake, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';
import type { VersionRow } from '../../../schemas/catalog-rows';
import { versionKey } from '../catalog-view';
import type { Published } from '../catalog-view';
import { differences } from '../differences';
import { missingEvidence } from '../evidence';
import { versionContent, versionRow } from '../rows';
import type { Checked } from './checked';

export function connectorMistakes(
  placed: Placed<ConnectorDocument>,
  checked: Checked,
): FleetMistake[] {
  const { published } = checked;
  const row = versionRow(placed.thing, published);
  const before = published.versions.get(versionKey(row));
  return [
    ...identityMistakes(placed, published),
    ...offerMistakes(placed, checked),
    ...outboundMistakes(placed),
    ...(before === undefined ? [] : contentMistakes(placed, before, row)),
    ...(checked.intended.version(row)?.status === row.status
      ? [...statusMistakes(placed, before, row), ...gateMistakes(placed, row, checked)]
      : revokedMistakes(placed)),
  ];
}

/** Name, provider and owner belong to the connector, not to one of its versions. */
function identityMistakes(
  { place, thing }: Placed<ConnectorDocument>,
  published: Published,
): FleetMistake[] {
  const before = published.connectors.get(thing.id);
  if (before === undefined) return [];
  return (['name', 'provider', 'tenant'] as const)
    .filter((field) => before[field] !== thing[field])
    .map((field) => {
      const was = before[field] === null ? 'left out' : `"${before[field]}"`;
      const problem = `was ${was} when connector ${thing.id} was published and stays so; use another id`;
      return mistakeAt(place, [field], problem);
    });
}

/** What is sent by actions is carried out by hosts of the very version. */
function outboundMistakes({ place, thing }: Placed<ConnectorDocument>): FleetMistake[] {
  return Object.entries(thing.outbound ?? {}).flatMap(([name, operation]) => {
    if (operation.kind !== 'action' || thing.capabilities.includes(operation.capabilityId))
      return [];
    const problem = `this version does not offer ${operation.capabilityId}; name it in its capabilities`;
    return [mistakeAt(place, ['outbound', 'action', 'operations', name, 'capability'], problem)];
  });
}

function offerMistakes(
  { place, thing }: Placed<ConnectorDocument>,
  { intended, isBroken }: Checked,
): FleetMistake[] {
  return thing.capabilities
    .filter((id) => !intended.hasCapability(id) && !isBroken('Capability', { id }))
    .map((id) => {
      const problem = `there is no capability ${id}, neither in this file nor in the catalog`;
      return mistakeAt(place, ['capabilities'], problem);
    });
}

function contentMistakes(
  { place, thing }: Placed<ConnectorDocument>,
  before: VersionRow,
  row: VersionRow,
): FleetMistake[] {
  const was = new Map<string, unknown>(Object.entries(versionContent(before)));
  return Object.entries(versionContent(row)).flatMap(([part, is]) => {
    const fields = differences({ [part]: was.get(part) }, { [part]: is });
    if (fields.length === 0) return [];
    const names = fields.map(({ field }) => field);
    const problem =
      `version ${thing.version} was published with another ${names.join(', ')} and never changes; ` +
      'give this one a new version';
    const path = names.length === 1 ? names.join('').split('.') : [part];
    return [mistakeAt(place, path, problem, 'version_immutable')];
  });
}

/** A version becomes active with all the evidence that is required, or not at all. */
function gateMistakes(
  { place }: Placed<ConnectorDocument>,
  row: VersionRow,
  { intended, published, evidence }: Checked,
): FleetMistake[] {
  const before = published.versions.get(versionKey(row));
  if (row.status !== 'active' || before?.status === 'active') return [];
  const { settings } = intended;
  const missing = missingEvidence(row, { settings, statements: evidence, nowMs: published.nowMs });
  if (missing.length === 0) return [];
  const problem =
    `version ${row.version} cannot become active without the evidence that the settings require; ` +
    `missing: ${missing.join(', ')}`;
  return [mistakeAt(place, ['status'], problem, 'evidence_missing')];
}

/** A statement of the same file revokes the version. */
function revokedMistakes({ place, thing }: Placed<ConnectorDocument>): FleetMistake[] {
  if (thing.status === null) return [];
  const problem = `evidence in this file revokes version ${thing.version}; leave the status out`;
  return [mistakeAt(place, ['status'], problem, 'version_revoked')];
}

/** Forward only; revoked is the end, and a draft was never in use that could be revoked. */
function statusMistakes(
  { place }: Placed<ConnectorDocument>,
  before: VersionRow | undefined,
  row: VersionRow,
): FleetMistake[] {
  if (before === undefined) return [];
  const from = CONNECTOR_STATUSES.indexOf(before.status);
  const to = CONNECTOR_STATUSES.indexOf(row.status);
  if (before.status === 'revoked' && row.status !== 'revoked') {
    const problem = `version ${row.version} was revoked, for good; publish a new version`;
    return [mistakeAt(place, ['status'], problem, 'version_revoked')];
  }
  if (to < from) {
    const problem = `cannot go back from ${before.status} to ${row.status}; publish a new version`;
    return [mistakeAt(place, ['status'], problem)];
  }
  if (before.status === 'draft' && row.status === 'revoked') {
    return [mistakeAt(place, ['status'], 'a draft cannot be revoked; leave it a draft')];
  }
  return [];
}
