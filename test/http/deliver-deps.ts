import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../../src/db/database';
import { deliveryId } from '../../src/domain/ids';
import type { Deliver } from '../../src/domain/sending';
import { deliverService } from '../../src/services/deliver';

/** Stores what is sent; the starter is doubled, and writes down what it was told. */
export function deliverDeps(data: Database, started: string[]): Deliver {
  return deliverService({
    data,
    newDeliveryId: () => deliveryId(uuidv7()),
    start: (ref) => void started.push(ref.deliveryId),
  });
}
