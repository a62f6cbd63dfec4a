/** What a fleet's statements of evidence mean for its versions (docs/architecture, "Evidence"). */
import type { EvidenceRow, SettingsRow, VersionKey, VersionRow } from '../../schemas/catalog-rows';
import type { Fleet } from '../../schemas/fleet';
import type { FleetMistake } from '../../schemas/fleet/mistakes';
import { mistakeAt } from '../../schemas/fleet/mistakes';
import { isSignedStatement } from '../../signing/evidence/verify';

/** The statements that nobody has signed. */
export async function signatureMistakes(fleet: Fleet): Promise<FleetMistake[]> {
  const found: FleetMistake[] = [];
  for (const { place, thing } of fleet.evidence) {
    if (await isSignedStatement(thing.statement.jws)) continue;
    const problem = 'its signature is not by the key in its header; have it signed again';
    found.push(mistakeAt(place, ['statement'], problem, 'evidence_refused'));
  }
  return found;
}

/** The public keys whose statements count once the fleet is published; null: anybody's. */
export function trustedKeys(fleet: Fleet, before: SettingsRow): string[] | null {
  const written = fleet.settings[0]?.thing.trustedSigners;
  const signers = written === undefined ? before.trustedSigners : written;
  return signers && Object.values(signers).map(({ x }) => x);
}

/** The versions that the fleet's statements revoke. */
export function revocations(fleet: Fleet): VersionKey[] {
  return fleet.evidence
    .map(({ thing }) => thing.statement)
    .filter(({ kind }) => kind === 'revocation');
}

/** Whether a statement was made of this very artifact and manifest. */
export function binds(statement: Digests, row: VersionRow): boolean {
  return (
    statement.artifactDigest === row.artifactDigest &&
    statement.manifestDigest === row.manifestDigest
  );
}

interface Digests {
  readonly artifactDigest: string;
  readonly manifestDigest: string | null;
}

/** What is required, and what there is of it. */
export interface EvidenceAtHand {
  readonly settings: SettingsRow;
  readonly statements: readonly EvidenceRow[];
  readonly nowMs: number;
}

/** What keeps the version from becoming active, for people: each kind with why; the gate. */
export function missingEvidence(row: VersionRow, at: EvidenceAtHand): string[] {
  const { requiredEvidence, trustedSigners } = at.settings;
  const keys = trustedSigners && Object.values(trustedSigners).map(({ x }) => x);
  const counting = at.statements.filter(
    (statement) =>
      statement.connector === row.connector &&
      statement.version === row.version &&
      binds(statement, row) &&
      (keys === null || keys.includes(statement.signer)),
  );
  return requiredEvidence.flatMap((kind) => {
    const [newest] = counting.filter((one) => one.kind === kind).sort(byWeight);
    if (newest === undefined) return [kind];
    if (newest.verdict === 'fail') return [`${kind} (${newest.id} says fail)`];
    const isOver = newest.expiresAtMs !== null && newest.expiresAtMs <= at.nowMs;
    return isOver ? [`${kind} (${newest.id} has expired)`] : [];
  });
}

/** The newest first; of one instant the worse. The database's `speaking_evidence` has the same order. */
function byWeight(one: EvidenceRow, other: EvidenceRow): number {
  const ends = ({ expiresAtMs }: EvidenceRow) => expiresAtMs ?? Number.MAX_VALUE;
  return (
    other.issuedAtMs - one.issuedAtMs ||
    Number(one.verdict === 'pass') - Number(other.verdict === 'pass') ||
    ends(one) - ends(other)
  );
}
