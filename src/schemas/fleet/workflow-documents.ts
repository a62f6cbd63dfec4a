/** Workflows of others, as fleet files name them. */
import { z } from 'zod';
import { QUEUES } from '../../domain/workflow-ids';
import { Name } from '../names';
import { Text } from './texts';

const own: readonly string[] = QUEUES;

/** Of the workers that run the workflow. */
export const TaskQueue = Text.refine(
  (queue) => !own.includes(queue),
  `must be a queue of your own workers; ${own.join(', ')} are Waybill's`,
);

/** The name under which its worker has registered it. */
export const WorkflowType = Text;

/** What targets of the kind workflow may start or signal; a tenant that is not named may not. */
export const WrittenAllowedWorkflows = z
  .array(
    z
      .strictObject({
        taskQueue: TaskQueue,
        type: WorkflowType,
        tenants: z.array(Name).min(1).max(1000).nullable().default(null),
      })
      .transform(({ taskQueue, type, tenants }) => ({ taskQueue, workflowType: type, tenants })),
  )
  .max(200);
