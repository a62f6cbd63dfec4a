/** The private key that a person signs with, from where they keep it. */
import { WaybillError } from '../../domain/errors';
import type { SigningKey } from '../../signing/keys';
import { surroundings } from './environment';

/**
 * @param reference `env:NAME` or `file:PATH`, as given with `--key`
 * @throws WaybillError `config_invalid`; it never quotes the key
 */
export async function signerOf(reference: string): Promise<SigningKey> {
  const { importSigningKey } = await import('../../signing/keys.js');
  const { processSecrets } = await import('../../workers/secrets.js');
  try {
    const secrets = processSecrets(surroundings().config);
    return await importSigningKey((await secrets.resolve(reference)).value.reveal());
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new WaybillError('config_invalid', `--key: ${reason}`, { field: '--key', cause: error });
  }
}
