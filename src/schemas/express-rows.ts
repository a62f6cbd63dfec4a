/** What the loop of the express lane is answered, beside the attempt that was asked for. */
import { z } from 'zod';

export const ClaimedDelivery = z.object({
  delivery_id: z.string(),
  connector_id: z.string(),
  event_type: z.string(),
  subscription_id: z.string(),
});
