import { envSecrets } from './env';
import { fileSecrets } from './file';
import { SecretError, type SecretProvider } from './provider';

export interface ReferenceOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute folder of relative `file:` references. */
  readonly baseDir?: string | undefined;
}

/** The provider of every kind of reference that this version reads: `env:` and `file:`. */
export function referencedSecrets({ env, baseDir }: ReferenceOptions): SecretProvider {
  const providers = new Map([
    ['env', envSecrets(env)],
    ['file', fileSecrets(baseDir)],
  ]);
  return {
    async resolve(ref) {
      const kind = ref.slice(0, Math.max(ref.indexOf(':'), 0));
      const provider = providers.get(kind);
      if (provider) return await provider.resolve(ref);
      if (kind === 'vault') {
        throw new SecretError('not_supported', `secret ${ref} is not supported in this version`);
      }
      // The text is not quoted: somebody may have put the secret itself there.
      throw new SecretError('malformed', 'a secret reference is env:NAME or file:PATH');
    },
  };
}
