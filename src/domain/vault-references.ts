/** References to secrets in Vault's versioned key-value engine: `vault:MOUNT/PATH#KEY`. */

export interface VaultReference {
  readonly mount: string;
  /** One segment at least. */
  readonly path: readonly string[];
  readonly key: string;
}

/** Letters, digits and a few marks that mean the same in a URL; never dots alone, which climb. */
const SEGMENT = /^(?!\.+$)[A-Za-z0-9._@+=~-]{1,128}$/;
const MAX_SEGMENTS = 32;

/** Null where the text is none. */
export function parseVaultReference(text: string): VaultReference | null {
  if (!text.startsWith('vault:')) return null;
  const [place = '', key = '', ...more] = text.slice('vault:'.length).split('#');
  const [mount = '', ...path] = place.split('/');
  const segments = [mount, ...path, key];
  const whole = path.length > 0 && segments.length <= MAX_SEGMENTS && more.length === 0;
  return whole && segments.every((segment) => SEGMENT.test(segment)) ? { mount, path, key } : null;
}
