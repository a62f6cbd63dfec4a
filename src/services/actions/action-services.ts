/** What the steps of an action work with; made once a process. */
import type { Database } from '../../db/database';
import type { ActionSigner } from '../../domain/receipts';
import type { ActionTargetResolver } from '../../domain/registry-ports';
import type { HostClient } from '../../hosts/client';

export interface ActionServices {
  /** Role waybill_data. */
  readonly data: Database;
  readonly routes: ActionTargetResolver;
  readonly hosts: HostClient;
  readonly sign: ActionSigner;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  /** How long a reservation holds before its request is sent. */
  readonly holdMs: number;
  /** How often a host is asked how far it is while a call to it lasts. */
  readonly watchMs: number;
}
