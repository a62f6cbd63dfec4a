/** Checks of an Evidence document: it is new and vouches for a version that is there, or it is there. */
import type { EvidenceDocument } from '../../../schemas/fleet/evidence-documents';
import type { FleetMistake, FleetMistakeCode, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';
import { binds } from '../evidence';
import type { Checked } from './checked';

/** How far a signer's clock may be ahead of the database's. */
const AHEAD_MS = 60_000;

export function evidenceMistakes(
  { place, thing }: Placed<EvidenceDocument>,
  checked: Checked,
): FleetMistake[] {
  const found: FleetMistake[] = [];
  const wrong = (problem: string, code: FleetMistakeCode = 'evidence_refused') => {
    found.push(mistakeAt(place, ['statement'], problem, code));
  };
  const { published } = checked;
  const before = published.evidence.get(thing.id);
  if (before !== undefined) {
    if (before.statement !== thing.statement.jws) {
      const problem = `another statement was published as ${thing.id}; use another id`;
      wrong(problem, 'evidence_immutable');
    }
    return found;
  }
  bindingProblems({ place, thing }, checked).forEach(([problem, code]) => {
    wrong(problem, code);
  });
  const { signer, issuedAt } = thing.statement;
  const { trustedSigners } = checked.intended.settings;
  if (trustedSigners !== null && !Object.values(trustedSigners).some(({ x }) => x === signer)) {
    wrong('its signer is none of the trustedSigners of the settings');
  }
  if (Date.parse(issuedAt) > published.nowMs + AHEAD_MS) {
    wrong('it says that it is issued later than now; look at the clock of its signer');
  }
  return found;
}

function bindingProblems(
  { thing: { statement } }: Placed<EvidenceDocument>,
  { intended, isBroken }: Checked,
): (readonly [string, FleetMistakeCode?])[] {
  const { connector, version } = statement;
  if (isBroken('Connector', { id: connector, version })) return [];
  const row = intended.version(statement);
  const name = `connector ${connector} ${version}`;
  if (row === undefined) {
    const problem = `there is no ${name}, neither in this file nor in the catalog`;
    return [[problem, 'fleet_invalid']];
  }
  if (row.artifactDigest === null) {
    return [[`${name} was published without artifactDigest: nothing can vouch for it`]];
  }
  if (binds(statement, row)) return [];
  const digests = (['artifactDigest', 'manifestDigest'] as const).filter(
    (digest) => statement[digest] !== row[digest],
  );
  return [[`it was made of another ${digests.join(' and ')} than that of ${name}`]];
}
