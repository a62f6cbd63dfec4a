/** A host's key and the DID that its replica is published with. */
import { writeFile } from 'node:fs/promises';
import { WaybillError } from '../../domain/errors';
import { didOfKey } from '../../hosts/protocol/did-key';
import { generateKeyText, importSigningKey } from '../../signing/keys';

/**
 * Makes a private key that its owner alone can read; answers its DID. A file that is there is never
 * written over.
 * @throws WaybillError `config_invalid`
 */
export async function makeKey(file: string): Promise<string> {
  const text = await generateKeyText();
  try {
    await writeFile(file, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'cannot be written';
    throw new WaybillError('config_invalid', `--new-key: ${reason}`, {
      field: '--new-key',
      cause: error,
    });
  }
  return didOfKey((await importSigningKey(text)).publicJwk.x);
}
