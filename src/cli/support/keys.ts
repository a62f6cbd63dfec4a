/** Keys that hosts and signers of evidence make for themselves. */
import { writeFile } from 'node:fs/promises';
import { WaybillError } from '../../domain/errors';
import { generateKeyText, importSigningKey, type PublicJwk } from '../../signing/keys';

/**
 * Makes a private key that its owner alone can read; answers its public half. A file that is there is
 * never written over.
 * @param setting what names the file, for a failure to blame
 * @throws WaybillError `config_invalid`
 */
export async function makeKey(file: string, setting: string): Promise<PublicJwk> {
  const text = await generateKeyText();
  try {
    await writeFile(file, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'cannot be written';
    throw new WaybillError('config_invalid', `${setting}: ${reason}`, {
      field: setting,
      cause: error,
    });
  }
  return (await importSigningKey(text)).publicJwk;
}
