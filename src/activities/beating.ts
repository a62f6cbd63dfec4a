/** What every ordinary activity does beside its work. */
import { Context } from '@temporalio/activity';
import { toFailure } from './failures';

export interface ActivityRun {
  /** Aborted when the workflow or the worker gives the activity up. */
  readonly signal: AbortSignal;
  /** Who this is, for people who read an attempt's row. */
  readonly owner: string;
  /** Shown with the activity in the Temporal UI, from its next heartbeat on. */
  readonly tell: (details: unknown) => void;
}

/**
 * Runs an activity's work with a heartbeat beside it, so that a worker that died is noticed within
 * the heartbeat time-out, not at the end of the longest call.
 */
export async function whileBeating<Result>(
  work: (run: ActivityRun) => Promise<Result>,
): Promise<Result> {
  const context = Context.current();
  const { workflowExecution, heartbeatTimeoutMs } = context.info;
  let details: unknown;
  const beat = setInterval(
    () => {
      context.heartbeat(details);
    },
    Math.max(100, (heartbeatTimeoutMs ?? 30_000) / 4),
  );
  try {
    const owner = `${workflowExecution?.runId ?? 'no-run'}@${String(process.pid)}`;
    const tell = (news: unknown): void => {
      details = news;
    };
    return await work({ signal: context.cancellationSignal, owner, tell });
  } catch (error) {
    throw toFailure(error);
  } finally {
    clearInterval(beat);
  }
}

/** A short local step: its errors become failures, and nothing else. */
export async function asStep<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw toFailure(error);
  }
}
