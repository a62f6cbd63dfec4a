import { envSecrets } from './env';
import { fileSecrets } from './file';
import { SecretError, type SecretProvider } from './provider';
import { vaultSecrets, type VaultSettings } from './vault';

export interface ReferenceOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute folder of relative `file:` references. */
  readonly baseDir?: string | undefined;
  /** Absent: this process has no Vault. */
  readonly vault?: VaultSettings | null;
}

/** The provider of every kind of reference: `env:`, `file:` and `vault:`. */
export function referencedSecrets({ env, baseDir, vault }: ReferenceOptions): SecretProvider {
  const providers = new Map([
    ['env', envSecrets(env)],
    ['file', fileSecrets(baseDir)],
    ['vault', vault ? vaultSecrets(vault) : noVault],
  ]);
  return {
    async resolve(ref) {
      const kind = ref.slice(0, Math.max(ref.indexOf(':'), 0));
      const provider = providers.get(kind);
      if (provider) return await provider.resolve(ref);
      // The text is not quoted: somebody may have put the secret itself there.
      throw new SecretError(
        'malformed',
        'a secret reference is env:NAME, file:PATH or vault:MOUNT/PATH#KEY',
      );
    },
  };
}

const noVault: SecretProvider = {
  resolve: (ref) =>
    Promise.reject(new SecretError('not_configured', `secret ${ref} needs VAULT_ADDR to be set`)),
};
