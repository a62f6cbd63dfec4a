/** The delivery workflow's activities: thin, over the services that do the work. */
import type { DeliveryActivities } from '../domain/delivery-activities';
import type { AttemptServices } from '../services/attempt-services';
import { makeAttempt } from '../services/attempts';
import { decideReplay } from '../services/replays';
import { whileBeating } from './beating';

export function deliveryActivities(services: AttemptServices): DeliveryActivities {
  return {
    attemptDelivery: (request) =>
      whileBeating(({ signal, owner }) =>
        makeAttempt(services, request, { owner, takeOver: request.takeOver, signal }),
      ),
    replayDelivery: ({ replayedBy, reason, ...ref }) =>
      whileBeating(() => decideReplay(services, ref, { replayedBy, reason })),
  };
}
