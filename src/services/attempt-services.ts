/** What an attempt works with; made once a process. */
import type { Database } from '../db/database';
import type { DispatchToWorkflow } from '../domain/workflow-targets';
import type { SecretProvider } from '../secrets/provider';
import type { SigningKey } from '../signing/keys';
import type { CallTarget } from '../targets/http-target';
import type { StartServices } from './actions/starting';
import type { AttemptClosings } from './attempt-closings';
import type { DeliveryMetrics } from './delivery-metrics';

export interface AttemptServices {
  /** Role waybill_data. */
  readonly data: Database;
  /** Of the same database. */
  readonly closings: AttemptClosings;
  readonly signingKey: SigningKey;
  readonly secrets: SecretProvider;
  readonly call: CallTarget;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  readonly metrics?: DeliveryMetrics;
  /** For targets of the kind `workflow`. */
  readonly workflows: DispatchToWorkflow;
  /** For targets of the kind `action`. */
  readonly actions: StartServices;
}
