/** The reference host: the host kit over the controlled provider. */
import type { TokenTrust } from '../../schemas/host-messages';
import { importSigningKey } from '../../signing/keys';
import type { HostIdentity } from '../kit/checks';
import { createHost, type Host } from '../kit/host';
import type { LifecycleOptions } from '../kit/lifecycle';
import { manifestOf } from '../kit/manifest';
import type { ReachPoint } from '../kit/points';
import { sqliteStore } from '../kit/stores/sqlite';
import { ProviderClient } from '../provider/client';
import { referenceCapabilities } from './capabilities';

export interface ReferenceHostOptions {
  readonly identity: HostIdentity;
  /** A private Ed25519 JWK as JSON text. */
  readonly keyText: string;
  /** The file of its idempotency store. */
  readonly storeFile: string;
  readonly provider: { readonly url: string; readonly token: string };
  readonly registration:
    LifecycleOptions | { readonly incarnation: number; readonly trust: TokenTrust };
  readonly listen: { readonly host: string; readonly port: number };
  /** How long an answer may take; default 30 000. */
  readonly timeoutMs?: number;
  /** How long a call to the provider may take; default 10 000. */
  readonly providerTimeoutMs?: number;
  readonly reach?: ReachPoint;
  readonly failed?: (error: unknown) => void;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_PROVIDER_TIMEOUT_MS = 10_000;

/** Starts it; it listens when this resolves. Throws for a key or a store that cannot be used. */
export async function startReferenceHost(options: ReferenceHostOptions): Promise<Host> {
  const key = await importSigningKey(options.keyText);
  const store = sqliteStore(options.storeFile);
  const { identity, registration, listen, reach, failed } = options;
  const capabilities = capabilitiesOf(options);
  try {
    return await createHost({
      ...{ identity, key, store, capabilities, registration, listen },
      ...(reach === undefined ? {} : { reach }),
      ...(failed === undefined ? {} : { failed }),
    });
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The digest of its manifest, for the fleet file and for routes: hosts of one version share it. */
export function referenceManifestDigest(
  options: Pick<ReferenceHostOptions, 'identity' | 'timeoutMs'>,
): string {
  const provider = { url: 'http://127.0.0.1', token: '' };
  return manifestOf(options.identity, capabilitiesOf({ ...options, provider })).digest;
}

function capabilitiesOf(
  options: Pick<ReferenceHostOptions, 'provider' | 'timeoutMs' | 'providerTimeoutMs'>,
): ReturnType<typeof referenceCapabilities> {
  const timeoutMs = options.providerTimeoutMs ?? DEFAULT_PROVIDER_TIMEOUT_MS;
  return referenceCapabilities({
    provider: new ProviderClient({ ...options.provider, timeoutMs }),
    settlesAfterMs: timeoutMs,
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  });
}
