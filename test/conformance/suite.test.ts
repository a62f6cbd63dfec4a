/**
 * The suite over good hosts: the reference host over its controlled provider, and one over the kit, in
 * this process and over real sockets. Doubled: nothing.
 */
import { runConformance } from '../../src/conformance/suite';
import type { CaseResult } from '../../src/domain/conformance';
import { startProvider } from '../../src/hosts/provider/provider';
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
