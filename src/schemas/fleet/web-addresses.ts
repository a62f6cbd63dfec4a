/** Addresses that Waybill calls. */
import { z } from 'zod';

export const WebAddress = z
  .url({ protocol: /^https?$/, error: 'write an http or https address' })
  .max(2000)
  .refine(
    // As those who call it read it: a scheme may be followed by more than two slashes.
    (text) => {
      if (!URL.canParse(text)) return true;
      const { username, password } = new URL(text);
      return username === '' && password === '' && !/^[^:]*:[/\\]*[^/\\?#]*@/.test(text);
    },
    'must hold no user name or password; requests are signed with secretRefs instead',
  );
