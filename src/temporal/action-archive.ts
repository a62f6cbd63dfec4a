/** What Temporal remembers of actions: their workflows by visibility, and what each history tells. */
import { WorkflowNotFoundError, type Client, type WorkflowExecutionInfo } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { tsToMs } from '@temporalio/common/lib/time';
import { ACTION_STATES } from '../domain/action-states';
import type { ActionRef } from '../domain/action-service';
import { tenantId } from '../domain/ids';
import type { ActionArchive, ActionRun, ActionRunFacts } from '../domain/recovery';
import { ACTION_WORKFLOW, DISPATCH_ACTIVITY, actionWorkflowId } from '../domain/workflow-ids';

const PAGE = 500;

type History = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>;
type Events = NonNullable<History['events']>;
type Payload = Parameters<typeof defaultPayloadConverter.fromPayload>[0];

/** @param taskQueue of this deployment's actions: others may share the namespace */
export function actionArchive(client: Client, taskQueue: string): ActionArchive {
  const ours = `WorkflowType = '${ACTION_WORKFLOW}' and TaskQueue = '${taskQueue}'`;
  return {
    pages: () => inPages(client.workflow.list({ query: ours, pageSize: PAGE })),
    async runsOf(ref) {
      const query = `${ours} and WorkflowId = '${actionWorkflowId(ref)}'`;
      const runs: ActionRun[] = [];
      for await (const page of inPages(client.workflow.list({ query }))) runs.push(...page);
      return runs;
    },
    async facts(run) {
      const handle = client.workflow.getHandle(actionWorkflowId(run), run.runId);
      try {
        const { events } = await handle.fetchHistory();
        return factsOf(events ?? []);
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return null;
        throw error;
      }
    },
  };
}

async function* inPages(
  infos: AsyncIterable<WorkflowExecutionInfo>,
): AsyncGenerator<readonly ActionRun[]> {
  let page: ActionRun[] = [];
  for await (const { workflowId, runId, startTime } of infos) {
    const ref = refOf(workflowId);
    if (ref === null) continue;
    page.push({ ...ref, runId, startedAt: startTime.toISOString() });
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

function refOf(workflowId: string): ActionRef | null {
  const [, tenant, actionId] = /^action\/([^/]+)\/(.+)$/.exec(workflowId) ?? [];
  return tenant === undefined || actionId === undefined
    ? null
    : { tenantId: tenantId(tenant), actionId };
}

function factsOf(events: Events): ActionRunFacts | null {
  const input = decoded(events[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]);
  const [capabilityId, requestDigest] = [input['capabilityId'], input['requestDigest']];
  if (typeof capabilityId !== 'string' || typeof requestDigest !== 'string') return null;
  const affinityKey = input['affinityKey'];
  const last = events.at(-1);
  const result = last?.workflowExecutionCompletedEventAttributes?.result?.payloads?.[0];
  const { state } = decoded(result);
  return {
    ...{ capabilityId, requestDigest },
    affinityKey: typeof affinityKey === 'string' ? affinityKey : null,
    sentFence: Math.max(0, ...events.map(fenceSent)),
    state: ACTION_STATES.find((known) => known === state) ?? null,
    closedAt: result === undefined ? null : new Date(tsToMs(last?.eventTime)).toISOString(),
  };
}

/** Of an event that hands the request to a worker; one that cannot be read counts as the highest. */
function fenceSent(event: Events[number]): number {
  const scheduled = event.activityTaskScheduledEventAttributes;
  if (scheduled?.activityType?.name !== DISPATCH_ACTIVITY) return 0;
  const { fence } = decoded(scheduled.input?.payloads?.[0]);
  return typeof fence === 'number' ? fence : Number.MAX_SAFE_INTEGER;
}

function decoded(payload: Payload | null | undefined): Readonly<Record<string, unknown>> {
  if (payload === null || payload === undefined) return {};
  const value = defaultPayloadConverter.fromPayload<unknown>(payload);
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
