/**
 * Deliveries whose target is a workflow of somebody else, in both lanes: a real Temporal server, a real
 * Postgres. Doubled: the workers of that somebody; what they would be given is read from the histories.
 */
import { randomUUID } from 'node:crypto';
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { LANES, type Lane } from '../../src/domain/lanes';
import type { WorkflowInput } from '../../src/domain/workflow-targets';
import { workflowTargets } from '../../src/temporal/workflow-targets';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { DeliveryRig } from '../support/delivery-rig';
import { nextAttempt } from '../support/next-attempt';

const QUEUE = `their-queue-${randomUUID()}`;
const TYPE = 'triage';

let rig: DeliveryRig;
let count = 0;
beforeAll(async () => {
  rig = await DeliveryRig.start();
  await allow([{ taskQueue: QUEUE, workflowType: TYPE, tenants: null }]);
});
afterAll(() => rig.stop());

const allow = (workflows: readonly object[]) =>
  rig.db.rows(`update waybill.settings set workflow_targets = $1`, [JSON.stringify(workflows)]);

/** A subscription whose target is this workflow. */
async function subscribe(lane: Lane, more: object = {}) {
  count += 1;
  const config = { taskQueue: QUEUE, workflowType: TYPE, signal: null, timeoutMs: 5_000, ...more };
  const target = { kind: 'workflow', config } as const;
  return await rig.catalog({ lane, subscription: `w${count}`, target });
}

const attempt = (ref: DeliveryRef, services = rig.services) => nextAttempt(rig, ref, { services });
const theirs = (id: string) => rig.client.workflow.getHandle(`acme/${id}`);

/** What the first event of that kind in a history carries. */
async function given(id: string, of: 'start' | 'signal'): Promise<WorkflowInput[]> {
  const { events } = await theirs(id).fetchHistory();
  return (events ?? []).flatMap((event) => {
    const attributes =
      of === 'start'
        ? event.workflowExecutionStartedEventAttributes
        : event.workflowExecutionSignaledEventAttributes;
    const [payload] = attributes?.input?.payloads ?? [];
    return payload ? [defaultPayloadConverter.fromPayload<WorkflowInput>(payload)] : [];
  });
}

describe.each(LANES)('in the lane %s', (lane) => {
  const toWorkflow = (more?: object) => subscribe(lane, more);

  test('a workflow is started on their queue, once, with the delivery and its payload', async () => {
    const fixture = await toWorkflow();
    const ref = await rig.accept(fixture, '{"issue":{"title":"é"}}');
    expect(await attempt(ref)).toEqual({ kind: 'acknowledged', attempt: 1 });
    expect(await rig.row(ref)).toMatchObject({ state: 'Acknowledged' });
    const description = await theirs(ref.deliveryId).describe();
    expect(description).toMatchObject({ type: TYPE, taskQueue: QUEUE });
    const [input] = await given(ref.deliveryId, 'start');
    expect(input).toMatchObject({
      ...{ tenantId: 'acme', deliveryId: ref.deliveryId, subscriptionId: fixture.subscription },
      ...{ eventType: 'push', attempt: 1, replay: 0, headers: [['x-github-event', 'push']] },
      payload: { issue: { title: 'é' } },
      payloadBase64: Buffer.from('{"issue":{"title":"é"}}').toString('base64'),
    });
  });

  test('what an earlier attempt has started is not started again, even once it is over', async () => {
    const fixture = await toWorkflow();
    for (const over of [false, true]) {
      const ref = await rig.accept(fixture);
      await rig.client.workflow.start(TYPE, {
        ...{ workflowId: `acme/${ref.deliveryId}`, taskQueue: QUEUE, args: [] },
      });
      if (over) await theirs(ref.deliveryId).terminate();
      expect(await attempt(ref)).toMatchObject({ kind: 'acknowledged' });
    }
  });

  test('bytes that are no JSON, or whose numbers would be others, come as they are', async () => {
    const fixture = await toWorkflow();
    for (const bytes of [Buffer.from([0xff, 0x00, 0x01]), Buffer.from('[2868860079149422351]')]) {
      const ref = await rig.accept(fixture, bytes);
      await attempt(ref);
      const [input] = await given(ref.deliveryId, 'start');
      expect(input).toMatchObject({ payload: null, payloadBase64: bytes.toString('base64') });
    }
  });

  test('a signal goes to a workflow of the tenant, which is started if it must be; it names the delivery', async () => {
    const inbox = `inbox-${randomUUID()}`;
    const fixture = await toWorkflow({ signal: { name: 'delivered', workflow: inbox } });
    const refs = [await rig.accept(fixture), await rig.accept(fixture)];
    for (const ref of refs) expect(await attempt(ref)).toMatchObject({ kind: 'acknowledged' });
    const signals = await given(inbox, 'signal');
    expect(signals.map(({ deliveryId }) => deliveryId)).toEqual(refs.map((ref) => ref.deliveryId));
  });

  test('what the deployment does not allow any more fails, and nothing is started', async () => {
    const ref = await rig.accept(await toWorkflow({ workflowType: 'other' }));
    expect(await attempt(ref)).toMatchObject({ kind: 'failed', reason: 'workflow_not_allowed' });
    await expect(theirs(ref.deliveryId).describe()).rejects.toThrow(WorkflowNotFoundError);
  });

  test('what is allowed to another tenant is not allowed', async () => {
    await allow([{ taskQueue: QUEUE, workflowType: TYPE, tenants: ['globex'] }]);
    const ref = await rig.accept(await toWorkflow());
    expect(await attempt(ref)).toMatchObject({ kind: 'failed', reason: 'workflow_not_allowed' });
    await allow([{ taskQueue: QUEUE, workflowType: TYPE, tenants: null }]);
  });

  test('nothing runs on a queue of Waybill itself, whatever is allowed', async () => {
    const services = { ...rig.services, workflows: workflowTargets(rig.client, [QUEUE]) };
    const ref = await rig.accept(await toWorkflow());
    expect(await attempt(ref, services)).toMatchObject({
      kind: 'failed',
      reason: 'workflow_refused',
    });
    await expect(theirs(ref.deliveryId).describe()).rejects.toThrow(WorkflowNotFoundError);
  });

  test('JSON that is nested too deep comes as bytes alone', async () => {
    const body = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const ref = await rig.accept(await toWorkflow(), body);
    expect(await attempt(ref)).toMatchObject({ kind: 'acknowledged' });
    const [input] = await given(ref.deliveryId, 'start');
    expect(input).toMatchObject({ payload: null });
    expect(Buffer.from(input?.payloadBase64 ?? '', 'base64').toString()).toBe(body);
  });

  test('a payload that is too large for a history fails, visibly', async () => {
    const ref = await rig.accept(await toWorkflow(), Buffer.alloc(600 * 1024, 'a'));
    const told = await attempt(ref);
    expect(told).toMatchObject({ kind: 'failed', reason: 'workflow_refused' });
  });

  test('while Temporal does not answer it is tried again', async () => {
    const nobody = Connection.lazy({ address: '127.0.0.1:1' });
    const client = new Client({ connection: nobody });
    const services = { ...rig.services, workflows: workflowTargets(client, []) };
    const ref = await rig.accept(await toWorkflow({ timeoutMs: 200 }));
    expect(await attempt(ref, services)).toMatchObject({ kind: 'retry', reason: 'answer_lost' });
    await nobody.close();
  });

  test('a signal goes to no workflow of another type or queue, whoever has started it', async () => {
    const OTHERS = [
      ['payroll', QUEUE],
      [TYPE, `another-${QUEUE}`],
    ] as const;
    for (const [type, taskQueue] of OTHERS) {
      const workflow = `inbox-${type}-${String(count)}`;
      const fixture = await toWorkflow({ signal: { name: 'mail', workflow } });
      await rig.client.workflow.start(type, {
        workflowId: `acme/${workflow}`,
        taskQueue,
        args: [],
      });
      const ref = await rig.accept(fixture);
      expect(await attempt(ref)).toMatchObject({
        kind: 'failed',
        detail: `workflow acme/${workflow} runs as ${type} of the queue ${taskQueue}, which the target does not name`,
      });
      expect(await given(workflow, 'signal')).toEqual([]);
    }
  });
});
