/**
 * Hints to Temporal: start an action's workflow right after its commit, nudge it right after a cancel.
 * Whatever goes wrong here, the loop of a worker makes good a little later.
 */
import type { Logger } from 'pino';
import type { ActionIdentity } from '../domain/action-activities';
import type { AttendReason } from '../services/actions/nudging';
import type { ActionWorkflows } from '../temporal/action-starter';

/** Hints under way at once; what comes on top is left to the loop. */
const MAX_PENDING = 200;

export class ActionStarts {
  readonly #workflows: ActionWorkflows;
  readonly #log: Logger;
  #pending = 0;

  constructor(workflows: ActionWorkflows, log: Logger) {
    this.#workflows = workflows;
    this.#log = log;
  }

  /** Returns at once and never throws. */
  attend(action: ActionIdentity, why: AttendReason): void {
    if (this.#pending >= MAX_PENDING) return;
    this.#pending += 1;
    this.#hint(action, why)
      .catch((error: unknown) => {
        const { tenantId, actionId } = action;
        const err = error instanceof Error ? error.message : String(error);
        this.#log.warn(
          { tenantId, actionId, err },
          'Temporal was not reached; a loop goes on with it',
        );
      })
      .finally(() => {
        this.#pending -= 1;
      });
  }

  async #hint(action: ActionIdentity, why: AttendReason): Promise<void> {
    switch (why) {
      case 'start':
        await this.#workflows.ensure(action);
        return;
      case 'nudge':
        await this.#workflows.nudge(action);
        return;
      case 'over':
        await this.#workflows.tell(action);
    }
  }
}
