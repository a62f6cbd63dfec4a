/** What a workflow tells people in the Temporal UI. */
import { WorkflowNotFoundError, type WorkflowHandle } from '@temporalio/client';
import { until } from './until';

/** What its page says, once that matches; a workflow that was only just asked for may not be there yet. */
export function pageSays(handle: WorkflowHandle, pattern: RegExp): Promise<string> {
  return until(`its page says ${String(pattern)}`, async () => {
    const page = await ifThere(() =>
      handle.query<{ currentDetails: string }>('__temporal_workflow_metadata'),
    );
    return page !== null && pattern.test(page.currentDetails) ? page.currentDetails : null;
  });
}

/** What is asked of a workflow; null while there is none. */
export async function ifThere<Told>(ask: () => Promise<Told>): Promise<Told | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}
