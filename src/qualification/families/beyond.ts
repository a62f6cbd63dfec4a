/** Families beyond that page: workers and gateways that die, and hosts that cannot be believed. */
import { GATEWAY_BOUNDARIES, WORKER_BOUNDARIES } from '../faults';
import {
  ONE_OF_EACH,
  ofEachWindow,
  type Acceptance,
  type FamilyData,
  type FamilyName,
} from './family';

/** Of an action whose process died. */
const RECOVERED: Acceptance = {
  ...ONE_OF_EACH,
  'state after the retry': 'completed',
  'replicas that it was sent to': 1,
  'open attempts': 0,
  'replica counters that differ from them': 0,
  'quota counters that differ from them': 0,
};

function killedIn(state: string, effects: number): Acceptance {
  return { 'state when it was killed': state, 'provider effects when it was killed': effects };
}

export const BEYOND_FAMILIES = {
  'worker-crash-windows': {
    title: 'Crash windows of the worker',
    faults: WORKER_BOUNDARIES.map((boundary) => ({
      ...{ kind: 'crash', process: 'worker-1', boundary },
    })),
    invariant:
      'Killed at each of its boundaries, the worker is succeeded by another, and all is there once.',
    acceptance: ofEachWindow(
      {
        'reserve.begun': killedIn('requested', 0),
        'reserve.done': killedIn('reserved', 0),
        'dispatch.opened': killedIn('dispatching', 0),
        'dispatch.answered': killedIn('dispatching', 1),
        'dispatch.closed': killedIn('completed', 1),
      },
      RECOVERED,
    ),
    needs: [],
  },
  'gateway-crash-windows': {
    title: 'Crash windows of the gateway',
    faults: GATEWAY_BOUNDARIES.map((boundary) => ({
      ...{ kind: 'crash', process: 'gateway-1', boundary },
    })),
    invariant:
      'A gateway is killed before it has answered; the same call at the other one meets the same action. ' +
      'Another action holds its capacity all the while.',
    acceptance: ofEachWindow(
      {
        'action.stored': { 'actions stored when it was killed': 1 },
        'action.started': { 'actions stored when it was killed': 1 },
      },
      { ...RECOVERED, 'attempts that are open meanwhile': 1 },
    ),
    needs: [],
  },
  'lost-answer': {
    title: 'The answer of a host is lost on its way',
    faults: [{ kind: 'link', conduct: 'lose-answer' }],
    invariant: 'The outcome is unknown until the same host is asked, and the effect is there once.',
    acceptance: {
      ...ONE_OF_EACH,
      state: 'completed',
      'settlement of the first attempt': 'outcome_unknown',
      'open attempts': 0,
    },
    needs: [],
  },
  'cut-answer': {
    title: 'The answer of a host is cut in its middle',
    faults: [{ kind: 'link', conduct: 'cut-answer' }],
    invariant: 'Half an answer is none: the same host is asked, and the effect is there once.',
    acceptance: {
      ...ONE_OF_EACH,
      state: 'completed',
      'settlement of the first attempt': 'outcome_unknown',
      'open attempts': 0,
    },
    needs: [],
  },
  'slow-answer': {
    title: 'The answer of a host is delayed',
    faults: [{ kind: 'link', conduct: 'slow-answer' }],
    invariant: 'Within its time a late answer is waited for, and nothing is done twice.',
    acceptance: {
      ...ONE_OF_EACH,
      state: 'completed',
      'settlement of the first attempt': 'completed',
      'open attempts': 0,
    },
    needs: [],
  },
  'late-request': {
    title: 'A request arrives after a later fence',
    faults: [{ kind: 'link', conduct: 'late-request' }],
    invariant:
      'A host that has stored a higher fence refuses the late request; the effect is there once.',
    acceptance: {
      ...ONE_OF_EACH,
      state: 'completed',
      'answer to the late request': 'refused stale_fence',
      'open attempts': 0,
    },
    needs: [],
  },
  'foreign-key': {
    title: 'A host answers with a wrong key',
    faults: [{ kind: 'link', conduct: 'foreign-key' }],
    invariant: "An answer that is not signed by the assigned host's key is not believed.",
    acceptance: {
      ...ONE_OF_EACH,
      state: 'completed',
      'settlement of the first attempt': 'outcome_unknown',
      'why it is not believed': 'wrong_signature',
      'open attempts': 0,
    },
    needs: [],
  },
  'replayed-token': {
    title: 'A route token is used again',
    faults: [
      { kind: 'token-replayed', to: 'host-globex-tickets-1' },
      { kind: 'token-replayed', to: 'host-acme-tickets-1' },
    ],
    invariant:
      'A token that was seen on its way is good once, at its own host, and for its own body.',
    acceptance: {
      ...ONE_OF_EACH,
      'answer of the same host': 'refused token_replayed',
      'answer of another host': 'refused wrong_audience',
    },
    needs: [],
  },
} as const satisfies Partial<Record<FamilyName, FamilyData>>;
