/**
 * The lives of a delivery whose histories are kept in `test/histories`: each ends where a workflow of
 * the last release may stand when a new build takes it over.
 */
import { decideReplay } from '../../src/services/replays';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import type { DeliveryRig } from './delivery-rig';

export type Scenario = (rig: DeliveryRig) => Promise<DeliveryRef>;

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'acknowledged-at-once': async (rig) => {
    const ref = await rig.deliver(await rig.catalog({ subscription: 'plain' }));
    await rig.reaches(ref, 'Acknowledged');
    return ref;
  },

  'waiting-for-the-next-attempt': async (rig) => {
    const patient = await rig.catalog({
      subscription: 'patient',
      retry: {
        attempts: 2,
        backoff: { kind: 'list', delaysMs: [600_000] },
        jitter: 0,
        totalSpanMs: null,
        retryAfterCapMs: 1_000,
      },
    });
    rig.receiver.answers.push({ status: 503 });
    const ref = await rig.deliver(patient);
    await rig.waits(ref);
    return ref;
  },

  'failed-and-waiting-for-a-replay': async (rig) => {
    rig.receiver.answers.push({ status: 404 });
    const ref = await rig.deliver(await rig.catalog({ subscription: 'wrong' }));
    await rig.waits(ref);
    return ref;
  },

  'replayed-by-the-api': async (rig) => {
    rig.receiver.answers.push({ status: 404 });
    const fixture = await rig.catalog({ subscription: 'mended' });
    const ref = await rig.deliver(fixture);
    await rig.waits(ref);
    await decideReplay(rig.services, ref, { replayedBy: 'ada', reason: 'mended' });
    await rig.workflows().nudge(ref, {
      connectorId: fixture.connector,
      eventType: 'push',
      subscriptionId: fixture.subscription,
    });
    await rig.reaches(ref, 'Acknowledged');
    return ref;
  },

  'replayed-by-the-signal': async (rig) => {
    rig.receiver.answers.push({ status: 404 });
    const ref = await rig.deliver(await rig.catalog({ subscription: 'signalled' }));
    await rig.waits(ref);
    await rig.handle(ref).signal('replay', { by: 'ada', reason: 'mended' });
    await rig.reaches(ref, 'Acknowledged');
    return ref;
  },

  'held-by-a-pause': async (rig) => {
    const paused = await rig.catalog({ subscription: 'paused' });
    await rig.db.rows(
      `update waybill.subscriptions set state = 'paused', pause_reason = 'target_gone'
        where subscription_id = 'paused'`,
    );
    const ref = await rig.deliver(paused, { heldPollMs: 600_000 });
    await rig.waits(ref);
    return ref;
  },
};
