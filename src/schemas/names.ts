/** Names that people give: tenants, connectors, instances, subscriptions, targets, ingresses. */
import { z } from 'zod';
import { NAME_PATTERN } from '../domain/ids';

export const Name = z
  .string()
  .regex(
    NAME_PATTERN,
    'write 1 to 64 lower-case letters, digits, ".", "_" or "-", with a letter or digit at both ends',
  );
