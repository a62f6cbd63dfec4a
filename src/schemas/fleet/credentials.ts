/** Revisions of an instance's credentials: names and states, never values. */
import { z } from 'zod';
import { Name } from '../names';

export const CREDENTIAL_STATUSES = ['active', 'revoked'] as const;

/** Those of one instance; what a document leaves out counts, too. */
export const MAX_CREDENTIALS = 1000;

const Credential = z.strictObject({
  revision: Name,
  status: z.enum(CREDENTIAL_STATUSES).nullable().default(null),
});

export const Credentials = z
  .array(Credential)
  .max(MAX_CREDENTIALS)
  .superRefine((credentials, context) => {
    credentials.forEach(({ revision }, index) => {
      if (credentials.findIndex((other) => other.revision === revision) === index) return;
      const message = 'another credential of this instance has the same revision';
      context.addIssue({ code: 'custom', path: [index, 'revision'], message });
    });
  });
