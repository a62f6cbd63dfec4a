/** Addresses that Waybill calls. */
import { z } from 'zod';

export const WebAddress = z
  .url({ protocol: /^https?$/, error: 'write an http or https address' })
  .max(2000)
  .refine(
    (text) => !/^[^:]*:\/\/[^/?#]*@/.test(text),
    'must hold no user name or password; requests are signed with secretRefs instead',
  );
