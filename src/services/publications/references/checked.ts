import type { BindingKey, EvidenceRow } from '../../../schemas/catalog-rows';
import type { FleetKind } from '../../../schemas/fleet/documents';
import type { Published } from '../catalog-view';
import type { Intended } from '../intended';

/** What every check looks at. */
export interface Checked {
  readonly published: Published;
  readonly intended: Intended;
  /** The file's statements, and the published ones that count. */
  readonly evidence: readonly EvidenceRow[];
  /** Whether the file has a document of this binding. */
  readonly isWritten: (binding: BindingKey) => boolean;
  /** Its states are reported by their owner, and take no newer revision. */
  readonly isReported: boolean;
  /** A document of that key is in the file, but has mistakes of its own. */
  readonly isBroken: (kind: FleetKind, key: DocumentKey) => boolean;
}

export interface DocumentKey {
  readonly tenant?: string;
  readonly id: string;
  readonly version?: string;
}
