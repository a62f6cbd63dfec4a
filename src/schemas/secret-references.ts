/** References to secrets as a fleet file writes them. The secret itself never stands there. */
import { posix } from 'node:path';
import { z } from 'zod';
import { parseVaultReference } from '../domain/vault-references';

const ENVIRONMENT = /^env:[A-Za-z_][A-Za-z0-9_]*$/;
const MAX_LENGTH = 1000;

/** `env:NAME`, `file:PATH` or `vault:MOUNT/PATH#KEY`. A mistake never repeats the text: it may be the secret itself. */
export const SecretReference = z
  .string()
  .max(MAX_LENGTH, { abort: true })
  .superRefine((text, context) => {
    const message = problemOf(text);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });

function problemOf(text: string): string | null {
  if (ENVIRONMENT.test(text)) return null;
  if (text.startsWith('vault:')) {
    return parseVaultReference(text) === null ? 'write vault:MOUNT/PATH#KEY' : null;
  }
  const path = text.startsWith('file:') ? text.slice('file:'.length) : '';
  if (path.trim() === '' || path.includes('\0')) {
    return 'write a reference, env:NAME, file:PATH or vault:MOUNT/PATH#KEY, never the secret itself';
  }
  if (path.endsWith('/')) return 'a path that ends in / names a folder, and no file';
  const climbs = /^\.\.(\/|$)/.test(posix.normalize(path));
  return climbs ? 'a relative path must stay inside the folder of secrets' : null;
}
