/** Families of deliveries: under one fault there are deliveries of both lanes, and each lane is judged by itself. */
import { LANES } from '../../domain/lanes';
import { DELIVERY_CRASHES } from '../faults';
import {
  ONE_OF_EACH,
  deliveredEach,
  deliveredOnce,
  merged,
  ofEach,
  type Acceptance,
  type FamilyData,
  type FamilyName,
} from './family';

/** What is durable at a boundary; of the target's requests a gateway says nothing: workers go on meanwhile. */
function stored(deliveries: number, requests?: number): Acceptance {
  return {
    'deliveries when it was killed': deliveries,
    ...(requests === undefined ? {} : { 'requests at the target when it was killed': requests }),
  };
}

const DURABLE: Readonly<Record<(typeof DELIVERY_CRASHES)[number]['boundary'], Acceptance>> = {
  'ingest.verified': stored(0),
  'ingest.committed': stored(1),
  'attempt.begun': stored(1, 0),
  'express.claimed': stored(1, 0),
  'attempt.opened': stored(1, 0),
  'attempt.answered': stored(1, 1),
  'attempt.closed': stored(1, 1),
  'express.started': stored(1, 1),
};

function ofEachDeliveryWindow(): Acceptance {
  return merged(
    DELIVERY_CRASHES.map(({ boundary, lanes }) =>
      ofEach([boundary], { ...ofEach(lanes, DURABLE[boundary]), ...deliveredOnce(lanes) }),
    ),
  );
}

/** Actions of the outage of Temporal. */
export const AROUND_TEMPORAL = ['under way', 'while it was away'] as const;

export const DELIVERY_FAMILIES = {
  'delivery-crash-windows': {
    title: 'Crash windows of a delivery',
    faults: DELIVERY_CRASHES.map((crash) => ({ ...{ kind: 'crash' }, ...crash })),
    invariant:
      'Gateway or worker are killed while the vendor sends and sends again: one delivery, acknowledged, in each lane.',
    acceptance: ofEachDeliveryWindow(),
    needs: [],
  },
  'target-down': {
    title: 'Target down, and a bulk replay',
    faults: [
      { kind: 'target', status: 500 },
      { kind: 'target', status: null },
    ],
    invariant:
      'In each lane what failed while the target was down took the attempts that it has, and is replayed in ' +
      'bulk under its own ids, each once.',
    acceptance: deliveredEach(3, {
      'failed while it was down': 3,
      // Three each.
      'requests while it was down': 9,
      'delivery ids that the target took': 3,
      'ids at the target that no delivery has': 0,
      'receipt chains': 3,
    }),
    needs: [],
  },
  'temporal-outage': {
    title: 'Temporal is killed with an action under way, and away for a minute',
    faults: [
      { kind: 'kill', process: 'temporal' },
      { kind: 'away', seconds: 60 },
      { kind: 'start', process: 'temporal' },
    ],
    invariant:
      'What was under way goes on; deliveries and actions are accepted meanwhile, and each is carried out once: ' +
      'those of the express lane while it is away, all others afterwards.',
    acceptance: {
      ...ofEach(AROUND_TEMPORAL, {
        ...ONE_OF_EACH,
        'answer to the call': '202',
        state: 'completed',
        'open attempts': 0,
      }),
      ...deliveredEach(3, {
        'answers to the vendor': '202 202 202',
      }),
      ...ofEach(['durable'], { 'acknowledged while it was away': 0 }),
      ...ofEach(['express'], { 'acknowledged while it was away': 3 }),
    },
    needs: [],
  },
  'ingest-outage': {
    title: 'Postgres is killed while deliveries arrive',
    faults: [
      { kind: 'kill', process: 'postgres' },
      { kind: 'start', process: 'postgres' },
    ],
    invariant:
      'What was answered 202 is there; what was not is sent again by the vendor; in each lane each is there once.',
    acceptance: deliveredEach(12, {
      'accepted and lost': 0,
      'events that the vendor could deliver': 12,
    }),
    needs: [],
  },
  'disk-full': {
    title: 'Postgres has no room',
    faults: [
      { kind: 'disk', full: true },
      { kind: 'disk', full: false },
    ],
    invariant: 'Without room nothing is accepted; once there is room the vendor delivers, once.',
    acceptance: {
      ...ofEach(LANES, {
        'answer without room': '503 storage_unavailable',
        'deliveries without room': 0,
      }),
      ...deliveredOnce(),
    },
    needs: [],
  },
} as const satisfies Partial<Record<FamilyName, FamilyData>>;
