/** The helper for authors' tests, used as an author uses it: a connector over a list in memory. */
import type { Connector, FinalOutcome } from '../../../src/hosts/host-kit';
import { capability } from '../../../src/hosts/host-kit';
import { TestWaybill, type TestHost } from '../../../src/hosts/host-kit-testing';
import { until } from '../../support/until';

const product: { readonly reference: string }[] = [];
const done: FinalOutcome = { kind: 'succeeded', result: { there: true } };
const contract = {
  ...({ interfaceName: 'things', sideEffect: 'shared-write', recovery: 'lookup' } as const),
  ...{ requestSchema: {}, resultSchema: {}, timeoutMs: 10_000 },
};

const connector: Connector = {
  connectorId: 'things',
  version: '1.0.0',
  capabilities: {
    'things.make': capability({
      contract,
      parse: (body) => body,
      execute: ({ action }) => {
        product.push({ reference: action });
        return Promise.resolve(done);
      },
      recover: ({ action, startedAgoMs }) => {
        if (product.some(({ reference }) => reference === action)) return Promise.resolve(done);
        return Promise.resolve({ kind: startedAgoMs > 0 ? 'not_started' : 'unknown' });
      },
    }),
    'things.break': capability({
      contract,
      parse: (body) => body,
      execute: () => Promise.reject(new Error('out of paper')),
      recover: () => Promise.resolve({ kind: 'unknown' }),
    }),
    'things.take-long': capability({
      contract,
      parse: (body) => body,
      execute: ({ signal, progress }) =>
        new Promise((resolve) => {
          progress('waiting', 10);
          signal.addEventListener('abort', () => {
            resolve({ kind: 'cancelled' });
          });
        }),
      recover: () => Promise.resolve({ kind: 'unknown' }),
    }),
  },
};

let waybill: TestWaybill;
let host: TestHost;
beforeEach(async () => {
  waybill = await TestWaybill.start();
  host = await waybill.host(connector);
});
afterEach(() => waybill.stop());

const effects = (action: { readonly id: string }) =>
  product.filter(({ reference }) => reference === action.id).length;

test('an action is executed, repeated, asked about and read: one effect', async () => {
  const action = host.action('things.make', {});
  expect(await action.read()).toEqual({ kind: 'not_started' });
  for (const ask of ['execute', 'execute', 'reconcile', 'execute', 'cancel', 'read'] as const) {
    expect(await action[ask]()).toEqual(done);
  }
  expect(effects(action)).toBe(1);
});

test.each([
  ['before_intent_persistence', 0, { kind: 'not_started' }],
  ['intent_persisted', 0, { kind: 'not_started' }],
  ['provider_response_received', 1, done],
  ['result_persisted', 1, done],
] as const)(
  'killed at %s and started again, it knows what became of it',
  async (point, made, found) => {
    const action = host.action('things.make', {});
    await host.killAt(point, action);
    expect(effects(action)).toBe(made);
    await host.restart();
    expect(await action.reconcile()).toEqual(found);
    expect(await action.execute()).toEqual(done);
    expect(effects(action)).toBe(1);
  },
);

test('a host that has forgotten everything says so, and looks when it is asked to', async () => {
  const action = host.action('things.make', {});
  await action.execute();
  await host.restart({ forget: true });
  expect(await action.execute()).toMatchObject({ kind: 'lost', reason: 'store_lost' });
  expect(await action.reconcileAfterLoss()).toEqual(done);
  expect(effects(action)).toBe(1);
});

test('what the connector throws is kept for the test, and is unknown to Waybill', async () => {
  const action = host.action('things.break', {});
  expect(await action.execute()).toEqual({ kind: 'unknown' });
  expect(host.errors).toEqual([new Error('out of paper')]);
});

test('long work says how far it is, is cancelled, and holds up no end', async () => {
  const action = host.action('things.take-long', {});
  const sent = action.execute();
  const running = await until('it is at work', async () => {
    const told = await action.read();
    return told.kind === 'running' ? told : null;
  });
  expect(running.progress).toEqual({ note: 'waiting', percent: 10 });
  expect(await action.cancel()).toEqual({ kind: 'cancelled' });
  expect(await sent).toEqual({ kind: 'cancelled' });
  await host.retire();
  expect(host.lifecycle.calls.at(-1)?.operation).toBe('offline');
});

test('a point that is never reached is told', async () => {
  const action = host.action('things.break', {});
  const killed = host.killAt('provider_response_received', action);
  await expect(killed).rejects.toThrow('answered unknown and never came to');
});
