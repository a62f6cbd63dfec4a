/** Families of processes that do not die: one is frozen, and one has another time than everybody else. */
import {
  ONE_OF_EACH,
  deliveredEach,
  deliveredOnce,
  merged,
  ofEach,
  type FamilyData,
  type FamilyName,
} from './family';
import { LANES } from '../../domain/lanes';

const HOUR_MS = 3_600_000;

/** Actions around the jumps of a worker's clock, and around those of a gateway's. */
export const CLOCK_ACTIONS = {
  worker: ['under way', 'worker an hour ahead', 'worker back again'],
  gateway: ['gateway an hour ahead', 'gateway back again'],
} as const;
/** Deliveries of a lane: one beside each action but that which is under way. */
const CLOCK_DELIVERIES = 4;

export const ODD_PROCESS_FAMILIES = {
  'frozen-worker': {
    title: 'A frozen worker wakes up late',
    faults: [
      { kind: 'freeze', process: 'worker-1' },
      { kind: 'wake', process: 'worker-1' },
    ],
    invariant:
      'Another worker ends what the frozen one had in hand, an action and a delivery of each lane; what that one ' +
      'still does once it is awake changes nothing.',
    acceptance: {
      'state of the action while it is frozen': 'completed',
      ...ofEach(LANES, { 'state of the delivery while it is frozen': 'Acknowledged' }),
      'attempts of all that it could still close': 0,
      ...ofEach(['action'], {
        ...ONE_OF_EACH,
        'state once it is awake': 'completed',
        'replicas that it was sent to': 1,
        'open attempts': 0,
      }),
      ...ofEach(['delivery'], deliveredOnce()),
      'counters that differ from the open attempts': 0,
    },
    needs: [],
  },
  'clock-jump': {
    title: 'The clock of one process jumps an hour',
    faults: [
      { kind: 'clock', process: 'worker-1', aheadMs: HOUR_MS },
      { kind: 'clock', process: 'worker-1', aheadMs: 0 },
      { kind: 'clock', process: 'gateway-1', aheadMs: HOUR_MS },
      { kind: 'clock', process: 'gateway-1', aheadMs: 0 },
    ],
    invariant:
      'Of a worker, then of a gateway: no lease, deadline or token runs out early, and none lasts longer: ' +
      'everything takes one attempt.',
    acceptance: merged([
      ofEach([...CLOCK_ACTIONS.worker, ...CLOCK_ACTIONS.gateway], {
        ...ONE_OF_EACH,
        state: 'completed',
        attempts: 1,
        'open attempts': 0,
      }),
      ofEach(CLOCK_ACTIONS.gateway, { 'answer to the call': '200 of gateway-1' }),
      deliveredEach(CLOCK_DELIVERIES, {
        'answers of the gateway': '202 202',
        'attempts that they took': CLOCK_DELIVERIES,
      }),
      { 'counters that differ from the open attempts': 0 },
    ]),
    needs: [],
  },
} as const satisfies Partial<Record<FamilyName, FamilyData>>;
