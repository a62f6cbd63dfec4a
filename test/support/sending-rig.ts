/**
 * What tests of sending share: connections by plain SQL, an operation over HTTP to the rig's receiver, and
 * `Deliver` as the API has it, with the workflows of the rig.
 */
import { v7 as uuidv7 } from 'uuid';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { deliveryId, tenantId } from '../../src/domain/ids';
import type { RetryProfile } from '../../src/domain/retry';
import type { Deliver, DeliverAnswer, DeliverOrder, SentDelivery } from '../../src/domain/sending';
import type { HttpOperation, Outbound } from '../../src/schemas/outbound';
import { addressPolicy } from '../../src/db/target-addresses';
import { referencedSecrets } from '../../src/secrets/references';
import { AttemptClosings } from '../../src/services/attempt-closings';
import type { AttemptServices } from '../../src/services/attempt-services';
import { makeAttempt } from '../../src/services/attempts';
import { deliverService } from '../../src/services/deliver';
import type { SigningKey } from '../../src/signing/keys';
import { httpTargets } from '../../src/targets/http-target';
import { QUICK_RETRY } from './catalog-fixture';
import type { DeliveryRig } from './delivery-rig';
import type { Answer, Receiver } from './receiver';
import { startingActions } from './starting-actions';
import type { TestDatabase } from './test-database';

export interface ConnectionOptions {
  readonly tenant?: string;
  /** Of connector and instance. */
  readonly name: string;
  readonly operations: Outbound;
  readonly config?: unknown;
  readonly secretRef?: string;
  readonly signingSecretRefs?: readonly string[];
  readonly retry?: RetryProfile;
  readonly rateLimit?: { readonly permits: number; readonly perMs: number; readonly burst: number };
  readonly grants?: readonly string[];
}

export async function insertConnection(
  db: Pick<TestDatabase, 'rows'>,
  options: ConnectionOptions,
): Promise<void> {
  const { tenant = 'acme', name, operations, config = null, rateLimit = null } = options;
  await db.rows(`insert into waybill.settings (default_retry) values ($1) on conflict do nothing`, [
    JSON.stringify(QUICK_RETRY),
  ]);
  await db.rows(
    `insert into waybill.connectors (connector_id, name, provider) values ($1, $1, $1)
      on conflict do nothing`,
    [name],
  );
  await db.rows(
    `insert into waybill.connector_versions
      (connector_id, version, status, content_digest, outbound, retry_profile, rate_limit)
      values ($1, '1.0.0', 'active', repeat('0', 64), $2, $3, $4) on conflict do nothing`,
    [
      ...[name, JSON.stringify(operations), JSON.stringify(options.retry ?? QUICK_RETRY)],
      rateLimit && JSON.stringify(rateLimit),
    ],
  );
  await db.rows(
    `insert into waybill.instances (tenant_id, instance_id, connector_id, version, status, grants,
      config, secret_ref, signing_secret_refs) values ($1, $2, $2, '1.0.0', 'enabled', $3, $4, $5, $6)`,
    [
      ...[tenant, name, options.grants ?? ['tool'], config && JSON.stringify(config)],
      ...[options.secretRef ?? null, options.signingSecretRefs ?? []],
    ],
  );
}

/** Long enough that something can be changed between two attempts. */
export const SLOW_RETRY: RetryProfile = {
  attempts: 5,
  backoff: { kind: 'list', delaysMs: [600] },
  ...{ jitter: 0, totalSpanMs: null, retryAfterCapMs: 0 },
};

/** Answers the calls to `/<name>`, one after the other, then as ever. */
export function answering(
  receiver: Receiver,
  { name }: { readonly name: string },
  ...answers: Answer[]
): void {
  receiver.decide = ({ path }) => (path.startsWith(`/${name}`) ? (answers.shift() ?? null) : null);
}

/** A POST of the payload itself, to `/sent` of that address. */
export function httpOperation(base: string, changes: Partial<HttpOperation> = {}): HttpOperation {
  return {
    ...{ kind: 'http', sideEffect: 'shared-write', method: 'POST', url: `${base}/sent` },
    ...{ headers: {}, body: null, auth: null, success: { statuses: null, body: null } },
    ...{ idempotencyHeader: null, idempotencyWindowMs: 86_400_000, standardWebhooks: false },
    timeoutMs: 2_000,
    ...changes,
  };
}

/** A call with what most tests leave as it is. */
export function orderOf(
  name: string,
  changes: Partial<Omit<DeliverOrder, 'payload'>> & { readonly payload?: string } = {},
): DeliverOrder {
  return {
    ...{ connectorId: name, instanceId: name, operation: 'send', idempotencyKey: uuidv7() },
    ...{ contentType: 'application/json', budget: { attempts: null, deadlineMs: null } },
    ...{ waitMs: 10_000, policyDecision: null, approval: null },
    ...changes,
    payload: Buffer.from(changes.payload ?? '{"n":1}'),
  };
}

/** `Deliver` of a rig, for a tenant and somebody. */
export function sender(
  rig: DeliveryRig,
  who: { readonly tenant?: string; readonly subject?: string; readonly heartbeatMs?: number } = {},
): (order: DeliverOrder) => Promise<DeliverAnswer> {
  const deliver: Deliver = deliverService({
    data: rig.services.data,
    newDeliveryId: () => deliveryId(uuidv7()),
    start: (ref, about) => {
      // As the API does: what is missed here, a loop makes good.
      rig
        .workflows(who.heartbeatMs === undefined ? {} : { heartbeatMs: who.heartbeatMs })
        .ensure(ref, about)
        .catch(() => undefined);
    },
  });
  const principal = {
    tenantId: tenantId(who.tenant ?? 'acme'),
    subject: who.subject ?? 'ada@example.test',
  };
  return (order) => deliver(order, principal, new AbortController().signal);
}

/** What was stored; fails where the call was refused. */
export function sent(answer: DeliverAnswer): SentDelivery {
  if (answer.kind === 'refused') throw new Error(`${answer.code}: ${answer.detail}`);
  return answer.delivery;
}

export function refOf({ deliveryId: id }: SentDelivery, tenant = 'acme'): DeliveryRef {
  return { tenantId: tenantId(tenant), deliveryId: id };
}

/** What attempts are made with, outside of a worker; secrets come from `env`, as it is at each attempt. */
export function attemptServices(
  db: TestDatabase,
  signingKey: SigningKey,
  env: Readonly<Record<string, string>>,
): { readonly services: AttemptServices; close(): Promise<void> } {
  const data = db.as('waybill_data');
  const targets = httpTargets({ policy: addressPolicy(data) });
  const services: AttemptServices = {
    ...{ data, signingKey, call: targets.call, random: () => 0 },
    closings: new AttemptClosings(data),
    secrets: referencedSecrets({ env }),
    workflows: () => Promise.reject(new Error('no workflow is started here')),
    actions: startingActions(data, () => undefined),
  };
  return { services, close: () => targets.close() };
}

/** What a workflow would do: attempts until it is over, without the waiting between them. */
export async function attempted(
  db: TestDatabase,
  services: AttemptServices,
  ref: DeliveryRef,
): Promise<void> {
  const options = { owner: 'test', takeOver: false, signal: new AbortController().signal };
  for (let tries = 0; tries < 10; tries += 1) {
    await db.rows('update waybill.deliveries set next_attempt_at = null where delivery_id = $1', [
      ref.deliveryId,
    ]);
    const told = await makeAttempt(services, ref, options);
    if (told.kind !== 'retry') return;
  }
}
