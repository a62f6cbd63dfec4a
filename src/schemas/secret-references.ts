/** References to secrets as a fleet file writes them. The secret itself never stands there. */
import { z } from 'zod';

const ENVIRONMENT = /^env:[A-Za-z_][A-Za-z0-9_]*$/;
const FILE = /^file:[^\0]+$/;

/** `env:NAME` or `file:PATH`. A mistake never repeats the text: it may be the secret itself. */
export const SecretReference = z
  .string()
  .max(1000)
  .superRefine((text, context) => {
    if (ENVIRONMENT.test(text) || FILE.test(text)) return;
    context.addIssue({
      code: 'custom',
      message: text.startsWith('vault:')
        ? 'references to Vault are not supported in this version; write env:NAME or file:PATH'
        : 'write a reference, env:NAME or file:PATH, never the secret itself',
    });
  });
