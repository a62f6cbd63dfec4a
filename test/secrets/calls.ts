/** What is called in the full run: actions, sending by HTTP and gRPC, a subscription of the tenant's own. */
import { randomUUID } from 'node:crypto';
import { Metadata } from '@grpc/grpc-js';
import { call, clientOf, type Outcome } from '../grpc/rig';
import { Approver } from '../support/approvers';
import type { FullRun } from '../support/full-run';

export const JSON_TYPE = { 'content-type': 'application/json' };
const PAY = { connectionId: 'pay', waitMs: 10_000 };

export async function runActions(run: FullRun): Promise<void> {
  for (const [capability, request] of [
    ['tickets.create', { title: 'Broken lamp' }],
    ['tickets.read', { ticketId: 'none' }],
  ] as const) {
    const id = randomUUID();
    const body = JSON.stringify({ capabilityId: capability, request });
    await run.ask(`/v1/actions/${id}`, { method: 'PUT', body, headers: JSON_TYPE });
  }
}

export async function sendByHttp(run: FullRun): Promise<void> {
  for (const operation of ['bearer', 'query', 'basic', 'gone']) {
    const { status } = await run.ask('/v1/deliver', {
      method: 'POST',
      body: JSON.stringify({ ...PAY, connector: 'pay', operation, payload: {} }),
      headers: { ...JSON_TYPE, 'idempotency-key': randomUUID() },
    });
    expect(status).toBe(200);
  }
}

/** Of what is external also what it is told to sign, and what an approver has signed then. */
export async function sendByGrpc(run: FullRun): Promise<void> {
  const client = clientOf(run.grpcPort);
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${run.token}`);
  const deliver = async (message: Record<string, unknown>): Promise<Outcome> => {
    const key = { idempotencyKey: randomUUID(), payload: Buffer.from('{}') };
    const outcome = await call(
      client,
      'Deliver',
      { ...PAY, connectorId: 'pay', ...key, ...message },
      { metadata },
    );
    run.answers.push({ where: 'answer of gRPC Deliver', text: textOf(outcome) });
    return outcome;
  };
  const settled = (sideEffect: string, state: string) => ({
    answer: { settled: true, delivery: { sideEffect, state } },
  });
  expect(await deliver({ operation: 'bearer' })).toMatchObject(
    settled('shared-write', 'Acknowledged'),
  );
  expect(await deliver({ operation: 'query' })).toMatchObject(settled('shared-write', 'Failed'));
  const charge = {
    ...{ operation: 'charge', idempotencyKey: randomUUID() },
    policyDecision: { id: 'd-1', outcome: 'allow' },
  };
  const asked = await deliver(charge);
  if (!('refused' in asked)) throw new Error('it was sent without an approval');
  const digest = String(asked.refused.metadata.get('waybill-request-digest')[0]);
  const approver = await Approver.trustedBy(run.rig.db, 'grace@example.test');
  const approval = await approver.signsDelivery(charge.idempotencyKey, digest, 'token-1');
  expect(await deliver({ ...charge, approval })).toMatchObject(settled('external', 'Acknowledged'));
  client.close();
}

function textOf(outcome: Outcome): string {
  if ('answer' in outcome) return JSON.stringify(outcome.answer);
  const { message, metadata } = outcome.refused;
  return `${message}\n${JSON.stringify(metadata.getMap())}`;
}

/** Makes a subscription by the API, and answers where its vendor's webhooks go. */
export async function subscribe(run: FullRun, secretRef: string): Promise<string> {
  const { status, text } = await run.ask('/factory/subscriptions', {
    method: 'POST',
    body: JSON.stringify({
      ...{ subscriptionId: 'made', instanceId: 'main', targetId: 'good-target' },
      ...{ eventTypes: ['*'], ingress: { secrets: [{ id: 'own', ref: secretRef }] } },
    }),
    headers: { ...JSON_TYPE, 'idempotency-key': randomUUID() },
  });
  expect(status).toBe(201);
  return (JSON.parse(text) as { readonly ingress: { readonly ref: string } }).ingress.ref;
}
