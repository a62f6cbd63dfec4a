/**
 * The suite over good hosts: the reference host over its controlled provider, and one over the kit, in
 * this process and over real sockets. Doubled: nothing.
 */
import { bounded } from '../../src/conformance/replies';
import { runConformance, runConformanceGroup } from '../../src/conformance/suite';
import type { CaseResult } from '../../src/domain/conformance';
import { startProvider } from '../../src/hosts/provider/provider';
import { capability } from '../../src/hosts/kit/connector';
import { startReferenceHost } from '../../src/hosts/reference/host';
import { generateKeyText } from '../../src/signing/keys';
import { Folder, IDENTITY, INCARNATION, newKey, trustIn } from '../hosts/support/fixtures';
import { notesHost, setupFor, type SandboxKeys } from './support/sandbox';

const folder = new Folder();
let keys: SandboxKeys;

beforeAll(async () => {
  keys = { host: await newKey(), waybill: await newKey(), stranger: await newKey() };
});
afterAll(() => {
  folder.remove();
});

function notPassed(results: readonly CaseResult[]) {
  return results
    .filter(({ verdict }) => verdict !== 'passed')
    .map(({ id, verdict, why, exchanges }) => ({ id, verdict, why, last: exchanges.at(-1) }));
}

test('the reference host passes every case', async () => {
  const provider = await startProvider({
    file: folder.file('provider'),
    accounts: { 'token-of-acme': 'acme' },
    listen: { host: '127.0.0.1', port: 0 },
  });
  const host = await startReferenceHost({
    identity: IDENTITY,
    keyText: await generateKeyText(),
    storeFile: folder.file('store'),
    provider: { url: provider.url, token: 'token-of-acme' },
    registration: { incarnation: INCARNATION, trust: trustIn(keys.waybill) },
    listen: { host: '127.0.0.1', port: 0 },
  });
  try {
    const cases = {
      'reports.build': {
        ...{ valid: [{ title: 'a report', durationMs: 0 }], invalid: [] },
        slow: { title: 'a long report', durationMs: 10_000 },
      },
      'tickets.read': { valid: [{ recordId: 'acme.invoice-1' }], invalid: [] },
    };
    const results = await runConformance(setupFor(host, keys, { cases }));
    expect(notPassed(results).filter(({ verdict }) => verdict === 'failed')).toEqual([]);
    expect(results.length).toBeGreaterThan(50);
  } finally {
    await host.stop();
    await provider.stop();
  }
});

test('a host over the kit passes every case, and what cannot be tried here is named', async () => {
  const host = await notesHost(keys);
  try {
    const results = await runConformance(setupFor(host, keys));
    expect(notPassed(results).map(({ id, verdict }) => [id, verdict])).toEqual(
      ['register', 'heartbeat', 'drain'].map((name) => [`lifecycle/${name}`, 'skipped']),
    );
  } finally {
    await host.stop();
  }
});

test('a host that never comes to an end costs a group no more than its time', async () => {
  const never = capability({
    contract: {
      ...({ interfaceName: 'notes', sideEffect: 'read', recovery: 'none' } as const),
      ...{ timeoutMs: 5_000, requestSchema: {}, resultSchema: {} },
    },
    parse: (body) => body,
    execute: () => new Promise(() => undefined),
  });
  const host = await notesHost(keys, { capabilities: { never } });
  try {
    const setup = setupFor(host, keys, { groupLimitMs: 300 });
    const [only, ...more] = await runConformanceGroup('capabilities', setup);
    expect(more).toEqual([]);
    expect(only).toMatchObject({
      ...{ id: 'capabilities/valid/never', verdict: 'failed' },
      why: 'the group was not over within 300 ms',
    });
    // Whoever asked has gone: no verdict.
    const signal = AbortSignal.timeout(100);
    const gone = runConformanceGroup('capabilities', setupFor(host, keys, { signal }));
    await expect(gone).rejects.toThrow(/timeout/);
  } finally {
    await host.stop();
  }
});

test('what came back is kept as text that can be stored, wherever it is cut', () => {
  for (const before of [598, 599, 600]) {
    const text = bounded(`${'x'.repeat(before)}\u{1F9FE}\ud800 and more\0`.repeat(2));
    expect(text).not.toMatch(/[\p{Cs}\0]/u);
    expect(text).toMatch(/…$/);
  }
});
