/** A host's manifest: its bytes, and the digest that the catalog and every route name. */
import { WaybillError } from '../../domain/errors';
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

/**
 * The manifest of a connector version.
 * @throws WaybillError `config_invalid` that names what Waybill would not read
 */
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
  const parsed = HostManifestSchema.safeParse(manifest);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = issue?.path.join('.') ?? '';
    throw new WaybillError('config_invalid', `the manifest, ${where}: ${issue?.message ?? ''}`);
  }
  const text = canonicalJson(parsed.data);
  return { text, digest: sha256Hex(text) };
}
