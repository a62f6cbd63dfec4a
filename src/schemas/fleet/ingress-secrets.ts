/** The secrets of an ingress with the time in which each is valid, so that one can be rotated. */
import { z } from 'zod';
import { Name } from '../names';
import { SecretReference } from '../secret-references';

/** An ISO 8601 instant with its offset, in UTC. */
export const WrittenInstant = z.iso
  .datetime({ offset: true, error: 'write an instant such as 2026-01-31T00:00:00Z' })
  .transform((text) => new Date(text).toISOString());

const Instant = WrittenInstant.nullable().default(null);

const IngressSecret = z
  .strictObject({ id: Name, ref: SecretReference, notBefore: Instant, notAfter: Instant })
  .refine(({ notBefore, notAfter }) => !notBefore || !notAfter || notBefore < notAfter, {
    path: ['notAfter'],
    error: 'must be later than notBefore',
  });

export const IngressSecrets = z
  .array(IngressSecret)
  .min(1, 'name at least one secret; requests are verified with it')
  .max(10)
  .superRefine((secrets, context) => {
    secrets.forEach(({ id }, index) => {
      if (secrets.findIndex((other) => other.id === id) === index) return;
      const message = 'another secret of this ingress has the same id';
      context.addIssue({ code: 'custom', path: [index, 'id'], message });
    });
  });
