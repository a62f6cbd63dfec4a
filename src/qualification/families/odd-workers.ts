/** Families of workers that do not die: one is frozen, and one has another time than everybody else. */
import { DELIVERED_ONCE, ONE_OF_EACH, ofEach, type FamilyData, type FamilyName } from './family';

const HOUR_MS = 3_600_000;

/** Actions around the jumps of a clock. */
export const CLOCK_ACTIONS = ['under way', 'an hour ahead', 'back again'] as const;

export const ODD_WORKER_FAMILIES = {
  'frozen-worker': {
    title: 'A frozen worker wakes up late',
    faults: [
      { kind: 'freeze', process: 'worker-1' },
      { kind: 'wake', process: 'worker-1' },
    ],
    invariant:
      'Another worker ends what the frozen one had in hand; what that one still does once it is awake changes nothing.',
    acceptance: {
      'state of the action while it is frozen': 'completed',
      'state of the delivery while it is frozen': 'Acknowledged',
      'attempts of both that it could still close': 0,
      ...ofEach(['action'], {
        ...ONE_OF_EACH,
        'state once it is awake': 'completed',
        'replicas that it was sent to': 1,
        'open attempts': 0,
      }),
      ...ofEach(['delivery'], DELIVERED_ONCE),
      'counters that differ from the open attempts': 0,
    },
    needs: [],
  },
  'clock-jump': {
    title: 'The clock of one worker jumps an hour',
    faults: [
      { kind: 'clock', process: 'worker-1', aheadMs: HOUR_MS },
      { kind: 'clock', process: 'worker-1', aheadMs: 0 },
    ],
    invariant:
      'No lease, deadline or token runs out early, and none lasts longer: everything takes one attempt.',
    acceptance: {
      ...ofEach(CLOCK_ACTIONS, {
        ...ONE_OF_EACH,
        state: 'completed',
        attempts: 1,
        'open attempts': 0,
      }),
      'deliveries that were acknowledged': 2,
      'attempts that they took': 2,
      'counters that differ from the open attempts': 0,
    },
    needs: [],
  },
} as const satisfies Partial<Record<FamilyName, FamilyData>>;
