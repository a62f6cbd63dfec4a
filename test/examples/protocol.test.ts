/**
 * The example connectors by the protocol: real processes that register with this test. Real: their
 * processes, sockets, stores and products. Doubled: the lifecycle service, in memory. Verdicts: signed
 * answers, and effects counted at their products.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import type { HostCall, HostClient } from '../../src/hosts/client';
import { LifecycleService } from '../../src/hosts/testing/lifecycle-service';
import type { SigningKey } from '../../src/signing/keys';
import { callTo, clientOf, IDENTITY, json, newKey, trustIn } from '../hosts/support/fixtures';
import { pythonProgram } from '../support/python';
import { until } from '../support/until';
import { ExampleHost, PYTHON, servedManifest, TYPESCRIPT } from './support/example-connectors';

let client: HostClient;
let waybill: SigningKey;
let stranger: SigningKey;
beforeAll(async () => {
  [waybill, stranger] = [await newKey(), await newKey()];
  client = clientOf(waybill);
});
afterAll(() => client.close());

const run = promisify(execFile);
const BODY = json({ text: 'Broken lamp' });
const FOLDERS = { TypeScript: 'typescript-connector', Python: 'python-connector' } as const;
const ANYTHING: unknown = expect.anything();

describe.each([TYPESCRIPT, PYTHON])('the $language connector', (example) => {
  let host: ExampleHost;
  let lifecycle: LifecycleService;
  const told = () => ({ lifecycle: lifecycle.url });
  beforeAll(async () => {
    host = await ExampleHost.describe(example, IDENTITY);
    lifecycle = await new LifecycleService(host.did, trustIn(waybill)).start();
    await host.start(told());
  }, 120_000);
  afterAll(async () => {
    await host.remove();
    await lifecycle.stop();
  });

  const call = (more: Parameters<typeof callTo>[1] = {}): HostCall =>
    callTo(host, {
      incarnation: lifecycle.incarnation,
      ...more,
      route: { connectorId: example.connectorId, capabilityId: example.capability, ...more.route },
    });
  const again = (asked: HostCall, fence: number): HostCall => ({
    ...asked,
    ...{ fence, incarnation: lifecycle.incarnation },
    route: { ...asked.route, endpoint: host.url },
  });
  const effects = ({ route }: HostCall) => host.effects(route.actionId);
  const final = (outcome: object): unknown =>
    expect.objectContaining({ kind: 'answered', outcome });

  test('serves the manifest that is committed beside it', async () => {
    const { manifest, digest } = await servedManifest(host.url);
    const folder = path.join(__dirname, '..', '..', 'examples', FOLDERS[example.language]);
    const committed: unknown = JSON.parse(readFileSync(path.join(folder, 'manifest.json'), 'utf8'));
    expect(manifest).toEqual(committed);
    expect(digest).toBe(host.manifestDigest);
  });

  test('does it once, however often and under whatever fence it is asked', async () => {
    const asked = call();
    const [first, other] = await Promise.all([
      client.execute(asked, BODY),
      client.execute(asked, BODY),
    ]);
    expect(first).toMatchObject({ outcome: { kind: 'succeeded' }, storeEpoch: host.storeEpoch });
    expect(other).toEqual(first);
    expect(await client.execute(again(asked, 11), BODY)).toEqual(first);
    expect(await client.reconcile(again(asked, 12))).toEqual(first);
    expect(await client.cancel(again(asked, 13))).toEqual(first);
    expect(await client.read(asked)).toEqual(first);
    expect(await effects(asked)).toBe(1);
    const late = { refusal: 'stale_fence', started: true, highestFence: 13 };
    expect(await client.execute(again(asked, 12), BODY)).toMatchObject(late);
    const another = await client.execute(again(asked, 14), json({ text: 'Another' }));
    expect(another).toMatchObject({ refusal: 'request_conflict', started: true });
  });

  test('a seal and a tombstone stop what comes late', async () => {
    const asked = call();
    expect(await client.reconcile(again(asked, 20))).toEqual(final({ kind: 'not_started' }));
    const late = { refusal: 'stale_fence', started: false, highestFence: 20 };
    expect(await client.execute(again(asked, 20), BODY)).toMatchObject(late);
    expect(await client.cancel(again(asked, 21))).toEqual(final({ kind: 'cancelled' }));
    expect(await client.execute(again(asked, 22), BODY)).toEqual(final({ kind: 'cancelled' }));
    expect(await effects(asked)).toBe(0);
  });

  test.each<[string, string, Parameters<typeof callTo>[1]]>([
    ['for another host', 'wrong_audience', { route: { peerDid: 'did:key:z6MkOther' } }],
    ['that has expired', 'token_expired', { expiresAtMs: 1_000 }],
    ['for another tenant', 'wrong_coordinates', { route: { tenantId: 'umbrella' as never } }],
    ['for another process', 'wrong_coordinates', { incarnation: 99 }],
    ['for a lost memory', 'store_lost', { storeEpoch: randomUUID() }],
    [
      'for a credential that it has not',
      'credential_revoked',
      { route: { credentialRevision: '8' } },
    ],
    ['for what it does not offer', 'unknown_capability', { route: { capabilityId: 'a.b' } }],
  ])('a token %s is refused: %s', async (_what, refusal, more) => {
    const asked = call(more);
    // Only its own answers can be read by the client; of one to another DID nothing is believed.
    const reply = await client.execute(
      { ...asked, route: { ...asked.route, endpoint: host.url } },
      BODY,
    );
    if (refusal === 'wrong_audience') {
      expect(reply).toMatchObject({ kind: 'lost', reason: 'wrong_signature' });
    } else if (refusal === 'store_lost') {
      expect(reply).toMatchObject({ kind: 'lost', reason: 'store_lost' });
    } else {
      expect(reply).toMatchObject({ refusal, started: false });
    }
    expect(await effects(asked)).toBe(0);
  });

  test('a token of a stranger, and a body that is no request, begin nothing', async () => {
    const other = clientOf(stranger);
    const asked = call();
    expect(await other.execute(asked, BODY)).toMatchObject({ refusal: 'token_invalid' });
    await other.close();
    for (const body of [json({ title: 'no text' }), Buffer.from('{"text":'), Buffer.alloc(0)]) {
      const reply = await client.execute(asked, body);
      expect(reply).toMatchObject({ refusal: 'request_invalid', started: false });
    }
    expect(await effects(asked)).toBe(0);
  });

  test('a memory that was not there looks for the effect, and concludes nothing too early', async () => {
    const asked = call({ storeEpoch: host.storeEpoch, sentAgoMs: 0 });
    expect(await client.reconcile(asked, BODY)).toEqual(final({ kind: 'unknown' }));
    const execute = await client.execute(again(asked, 11), BODY);
    expect(execute).toEqual(final({ kind: 'unknown' }));
    const anew = { ...again(asked, 12), beginAnew: true };
    expect(await client.execute(anew, BODY)).toEqual(
      final({ kind: 'succeeded', result: ANYTHING }),
    );
    expect(await effects(asked)).toBe(1);
    const old = call({ storeEpoch: host.storeEpoch, sentAgoMs: 3_600_000 });
    expect(await client.reconcile(old, BODY)).toEqual(final({ kind: 'not_started' }));
  });

  test('killed between effect and result, it finds the effect again', async () => {
    await host.kill();
    await host.start(told(), { latencyMs: 5_000 });
    const asked = call();
    const lost = client.execute(asked, BODY);
    await until('the effect is there', async () => ((await effects(asked)) === 1 ? true : null));
    expect(await client.read(asked)).toEqual(
      final({ kind: 'running', progress: example === TYPESCRIPT ? HALF : null }),
    );
    await host.kill();
    expect(await lost).toMatchObject({ kind: 'lost', reason: 'connection_lost' });
    await host.start(told());
    const found = await client.reconcile(again(asked, 11));
    expect(found).toEqual(final({ kind: 'succeeded', result: ANYTHING }));
    expect(await client.execute(again(asked, 12), BODY)).toEqual(found);
    expect(await effects(asked)).toBe(1);
  });

  test('a result that was stored outlives the process; a lost file is another memory', async () => {
    const asked = call();
    const first = await client.execute(asked, BODY);
    await host.kill();
    await host.start(told());
    expect(await client.execute(again(asked, 11), BODY)).toEqual(first);
    const epoch = host.storeEpoch;
    await host.kill();
    await host.start(told(), { store: 'another.sqlite' });
    expect(host.storeEpoch).not.toBe(epoch);
    const elsewhere = { ...again(asked, 12), storeEpoch: epoch };
    expect(await client.reconcile(elsewhere)).toMatchObject({ reason: 'store_lost' });
    expect(await effects(asked)).toBe(1);
  });
});

const HALF = { note: 'writing the note', percent: 50 };

test('the tests that come with the Python connector pass', async () => {
  const cwd = path.join(__dirname, '..', '..', 'examples', FOLDERS.Python);
  const tested = await run(await pythonProgram('python'), ['-B', '-m', 'unittest'], { cwd });
  expect(tested.stderr).toMatch(/^Ran \d+ tests [\s\S]*^OK$/m);
});

describe('long work of the Python connector', () => {
  let host: ExampleHost;
  let lifecycle: LifecycleService;
  beforeAll(async () => {
    host = await ExampleHost.describe(PYTHON, IDENTITY);
    lifecycle = await new LifecycleService(host.did, trustIn(waybill)).start();
    await host.start({ lifecycle: lifecycle.url });
  });
  afterAll(async () => {
    await host.remove();
    await lifecycle.stop();
  });

  test('says how far it is, and is stopped by a cancel', async () => {
    const asked = callTo(host, {
      incarnation: lifecycle.incarnation,
      route: { connectorId: 'board', capabilityId: 'digests.build' },
    });
    const sent = client.execute(asked, json({ text: 'Yearly', parts: 600 }));
    const running = await until('it is at work', async () => {
      const read = await client.read(asked);
      const outcome = read.kind === 'answered' ? read.outcome : null;
      return outcome?.kind === 'running' ? outcome.progress : null;
    });
    expect(running.note).toMatch(/^part \d+ of 600$/);
    const cancelled = { kind: 'answered', outcome: { kind: 'cancelled' } };
    expect(await client.cancel({ ...asked, fence: 11 })).toMatchObject(cancelled);
    expect(await sent).toMatchObject(cancelled);
    expect(await host.effects(asked.route.actionId)).toBe(0);
  });
});
