/** A host's manifest: its bytes, and the digest that the catalog and every route name. */
import type { HostManifest } from '../../domain/host-protocol';
import { canonicalJson } from '../../schemas/canonical-json';
import { HostManifestSchema } from '../../schemas/host-messages';
import { sha256Hex } from '../protocol/jws';
import type { Capability } from './connector';

export interface ManifestText {
  readonly text: string;
  /** SHA-256 (hex) of the text's UTF-8. */
  readonly digest: string;
}

/** The manifest of a connector version. Throws for what Waybill would not read. */
export function manifestOf(
  connector: { readonly connectorId: string; readonly version: string },
  capabilities: Readonly<Record<string, Capability>>,
): ManifestText {
  const manifest: HostManifest = {
    protocol: 1,
    connectorId: connector.connectorId,
    version: connector.version,
    capabilities: Object.entries(capabilities)
      .map(([capabilityId, { contract }]) => ({ capabilityId, ...contract }))
      .sort((a, b) => (a.capabilityId < b.capabilityId ? -1 : 1)),
  };
  const text = canonicalJson(HostManifestSchema.parse(manifest));
  return { text, digest: sha256Hex(text) };
}
