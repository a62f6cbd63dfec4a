/**
 * Checks of a Connector document: its version never changes, its status moves as its states allow, what
 * it offers is there.
 */
import { connectorStepProblem } from '../../../domain/connector-states';
import type { ConnectorDocument } from '../../../schemas/fleet/documents';
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

/**
 * A version becomes active with all the evidence that is required, or not at all; certified with that
 * of the conformance suite, where that is required.
 */
function gateMistakes(
  { place }: Placed<ConnectorDocument>,
  row: VersionRow,
  { intended, published, evidence }: Checked,
): FleetMistake[] {
  const { status, version } = row;
  const before = published.versions.get(versionKey(row));
  if ((status !== 'active' && status !== 'certified') || before?.status === status) return [];
  const required = intended.settings.requiredEvidence;
  const requiredEvidence =
    status === 'active' ? required : required.filter((kind) => kind === 'conformance');
  const settings = { ...intended.settings, requiredEvidence };
  const missing = missingEvidence(row, { settings, statements: evidence, nowMs: published.nowMs });
  if (missing.length === 0) return [];
  const problem =
    `version ${version} cannot become ${status} without the evidence that the settings require; ` +
    `missing: ${missing.join(', ')}`;
  return [mistakeAt(place, ['status'], problem, 'evidence_missing')];
}

/** A statement of the same file revokes the version. */
function revokedMistakes({ place, thing }: Placed<ConnectorDocument>): FleetMistake[] {
  if (thing.status === null) return [];
  const problem = `evidence in this file revokes version ${thing.version}; leave the status out`;
  return [mistakeAt(place, ['status'], problem, 'version_revoked')];
}

/** As `CONNECTOR_TRANSITIONS` says. */
function statusMistakes(
  { place }: Placed<ConnectorDocument>,
  before: VersionRow | undefined,
  row: VersionRow,
): FleetMistake[] {
  if (before === undefined) return [];
  const { version } = row;
  const problem = connectorStepProblem({ version, from: before.status }, row.status);
  if (problem === null) return [];
  const code = before.status === 'revoked' ? 'version_revoked' : 'fleet_invalid';
  return [mistakeAt(place, ['status'], problem, code)];
}
