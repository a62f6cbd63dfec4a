/**
 * Puts a connector version to the conformance suite (docs/architecture, "Certification"): group after
 * group, then the verdict. What was tried is on the row; a worker that dies costs its group a new try.
 */
import { CancellationScope, proxyActivities, setCurrentDetails, sleep } from '@temporalio/workflow';
import type {
  CertificationActivities,
  CertificationEnd,
  CertificationInput,
  CertificationRef,
  GroupOutcome,
} from '../domain/certification';
import { certificationDetails } from '../domain/certification';
import { CONFORMANCE_GROUPS, type ConformanceGroup } from '../domain/conformance';

const LOOK_MS = 2_000;

export async function certify(input: CertificationInput): Promise<CertificationEnd> {
  const { hostWaitMs, heartbeatMs, ...ref } = input;
  const activities = activitiesFor(heartbeatMs);
  try {
    const reason = await tryAll(ref, activities, hostWaitMs);
    return await activities.concludeCertification({ ...ref, reason });
  } catch (error) {
    // The button of the Temporal UI: the row must not stay under way.
    if (!CancellationScope.current().consideredCancelled) throw error;
    return await CancellationScope.nonCancellable(() =>
      activities.concludeCertification({ ...ref, reason: 'it was cancelled' }),
    );
  }
}

function activitiesFor(heartbeatMs: number): CertificationActivities {
  return proxyActivities<CertificationActivities>({
    startToCloseTimeout: '30 minutes',
    heartbeatTimeout: heartbeatMs,
    // What goes wrong here is Waybill's own: what a host does wrong is a case that fails.
    retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
  });
}

/** Why it fails without a case that does; null: the cases say. */
async function tryAll(
  ref: CertificationRef,
  { tryConformanceGroup }: CertificationActivities,
  hostWaitMs: number,
): Promise<string | null> {
  const tried: { group: ConformanceGroup; outcome: GroupOutcome }[] = [];
  for (const group of CONFORMANCE_GROUPS) {
    let waitedMs = 0;
    for (;;) {
      setCurrentDetails(certificationDetails(ref, tried, `trying ${group}`));
      const outcome = await tryConformanceGroup({ ...ref, group });
      if (outcome.kind === 'over') return null;
      if (outcome.kind === 'unfit') return outcome.why;
      if (outcome.kind === 'tried') {
        tried.push({ group, outcome });
        break;
      }
      const wish = `waiting for a registered host of the instance ${outcome.instanceId}`;
      if (waitedMs >= hostWaitMs)
        return `no host of the instance ${outcome.instanceId} is registered`;
      setCurrentDetails(certificationDetails(ref, tried, wish));
      await sleep(LOOK_MS);
      waitedMs += LOOK_MS;
    }
    const [{ outcome }] = tried.slice(-1) as [(typeof tried)[number]];
    // Behind that nothing that a case says would mean anything.
    if (group === 'basics' && outcome.kind === 'tried' && outcome.counts.failed > 0) break;
  }
  setCurrentDetails(certificationDetails(ref, tried, 'judging'));
  return null;
}
