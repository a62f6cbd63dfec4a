import { constants, open } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { resolvedSecret, SecretError, type SecretProvider } from './provider';

// Keys and tokens are far smaller; a reference to a log or a device must not fill the memory.
const maxSecretBytes = 65_536;

/**
 * Mounted secrets: `file:PATH`, the path absolute or inside `baseDir`. One line end at the end of the
 * file is not part of the value. The content is UTF-8 of at most 64 KiB.
 *
 * @param baseDir absolute folder of relative paths; without one they are refused
 */
export function fileSecrets(baseDir?: string): SecretProvider {
  return {
    async resolve(ref) {
      const path = pathOf(ref, baseDir);
      const bytes = await readSmallFile(path).catch((error: unknown) => {
        throw isMissing(error)
          ? new SecretError('not_found', `secret ${ref} does not exist`)
          : new SecretError('unreadable', `secret ${ref} cannot be read`);
      });
      return resolvedSecret(ref, readText(ref, bytes).replace(/\r?\n$/, ''));
    },
  };
}

function pathOf(ref: string, baseDir: string | undefined): string {
  const path = ref.slice('file:'.length);
  if (!ref.startsWith('file:') || path === '' || path.includes('\0')) {
    throw new SecretError('malformed', 'a secret reference to a file is file:PATH');
  }
  if (isAbsolute(path)) return path;
  if (baseDir === undefined) {
    throw new SecretError(
      'malformed',
      `secret ${ref} is relative, but no base folder is configured`,
    );
  }
  const full = resolve(baseDir, path);
  const inside = relative(baseDir, full);
  if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) {
    throw new SecretError('malformed', `secret ${ref} is outside the base folder`);
  }
  return full;
}

async function readSmallFile(path: string): Promise<Uint8Array> {
  // Without O_NONBLOCK a pipe would hold the call until somebody writes to it.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new Error('not a regular file');
    if (stat.size > maxSecretBytes) throw new Error('too large');
    return await file.readFile();
  } finally {
    await file.close();
  }
}

function readText(ref: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SecretError('unreadable', `secret ${ref} is not UTF-8 text`);
  }
}

function isMissing(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
}
