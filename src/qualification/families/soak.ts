/** The soak as a case: its faults follow from its seed, and what must be found is the same for each. */
import { LANES, type Lane } from '../../domain/lanes';
import { ofEach, type Acceptance, type NamedFamily } from './family';
import { soakSchedule, type Soak } from '../soak/schedule';

/** Counts of the ledger at the end, when everything is mended and nothing is under way. */
const SOUND = {
  'accepted actions that are not there': 0,
  'actions that are neither at an end nor waiting for a person': 0,
  'actions with an open attempt': 0,
  'actions with more than one effect': 0,
  'effects of no action': 0,
  'completed mutations without their effect': 0,
  'failed actions with an effect': 0,
  'effects without the approval that they need': 0,
  'accepted events of a changed lane that are not there': 0,
  'ids at the target that no delivery has': 0,
  'counters that differ from the open attempts': 0,
  'receipt chains that do not verify': 0,
  'ends without their receipt': 0,
} as const;

/** Those of the deliveries of each lane. */
const SOUND_LANE = {
  'accepted events that are not there': 0,
  'events that are there more than once': 0,
  'deliveries that are not at an end': 0,
  'deliveries with an open attempt': 0,
  'deliveries with attempts that overlap': 0,
  "attempts by the loop that are not the loop's": 0,
  'events with more than one id at the target': 0,
  'acknowledged deliveries that the target did not take': 0,
} as const;

export type LaneCounts = Readonly<Record<keyof typeof SOUND_LANE, number>>;
export type Ledger = Readonly<
  Record<keyof typeof SOUND | `${Lane}: ${keyof typeof SOUND_LANE}`, number>
>;

export const SOUND_LEDGER: Acceptance = { ...SOUND, ...ofEach(LANES, SOUND_LANE) };

export function soakFamily(soak: Soak): NamedFamily {
  const faults = soakSchedule(soak);
  // A short one may be over before it comes to that.
  const isSwitched = faults.some(({ kind }) => kind === 'publish');
  return {
    name: 'soak',
    title: `Random faults for ${soak.durationMs / 1_000} s, seed ${soak.seed}`,
    faults,
    invariant:
      'Whatever was accepted, in either lane, also while that was changed, is in one state at its end or waits ' +
      'for a person, once everywhere; ' +
      'every counter is what the open attempts make it, and every chain of receipts verifies.',
    acceptance: {
      'work was accepted throughout': true,
      'most deliveries of the express lane were driven by its loop': true,
      'lanes of the subscription that changed it': isSwitched ? LANES.join(' ') : 'durable',
      ...SOUND_LEDGER,
    },
    needs: [],
  };
}
