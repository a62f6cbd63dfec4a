import type { FleetKind } from '../../../schemas/fleet/documents';
import type { Intended, Published } from '../catalog-view';

/** What every check looks at. */
export interface Checked {
  readonly published: Published;
  readonly intended: Intended;
  /** A document of that key is in the file, but has mistakes of its own. */
  readonly isBroken: (kind: FleetKind, key: DocumentKey) => boolean;
}

export interface DocumentKey {
  readonly tenant?: string;
  readonly id: string;
  readonly version?: string;
}
