import { resolvedSecret, SecretError, type ResolvedSecret, type SecretProvider } from './provider';

/** Secrets of the environment that is passed in: `env:NAME`. */
export function envSecrets(env: Readonly<Record<string, string | undefined>>): SecretProvider {
  return {
    resolve: (ref) =>
      new Promise((done) => {
        done(readEnv(env, ref));
      }),
  };
}

function readEnv(env: Readonly<Record<string, string | undefined>>, ref: string): ResolvedSecret {
  const name = ref.slice('env:'.length);
  if (!ref.startsWith('env:') || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new SecretError('malformed', 'a secret reference to the environment is env:NAME');
  }
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (value === undefined) throw new SecretError('not_found', `secret ${ref} is not set`);
  return resolvedSecret(ref, value);
}
