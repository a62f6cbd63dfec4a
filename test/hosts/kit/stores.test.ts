/** One suite for all host stores: atomic steps, used tokens, forgetting. Doubled: nothing. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { begin, fenceOff, finish } from '../../../src/hosts/kit/decisions';
import type { ActionRef, HostStore, RecordedWork } from '../../../src/hosts/kit/store';
import { memoryStore } from '../../../src/hosts/kit/stores/memory';
import { sqliteStore } from '../../../src/hosts/kit/stores/sqlite';
import { Folder } from '../support/fixtures';

const folder = new Folder();
afterAll(() => {
  folder.remove();
});

let clockMs = 0;
let files = 0;
const nowMs = (): number => clockMs;
const KINDS: readonly (readonly [string, () => HostStore])[] = [
  ['memory', () => memoryStore(nowMs)],
  ['sqlite', () => sqliteStore(folder.file(`store-${String((files += 1))}`), nowMs)],
];

const WORK: Omit<RecordedWork, 'tries'> = {
  capability: 'tickets.create',
  requestSha256: 'a'.repeat(64),
  request: '{"title":"ä"}',
  credentialRevision: '7',
  approval: null,
  intentAtMs: 5,
};
const ref: ActionRef = { tenant: 'acme', action: 'one' };
const start = begin({ fence: 5, work: WORK, again: false, anew: false });

describe.each(KINDS)('the %s store', (_name, open) => {
  let store: HostStore;
  beforeEach(() => {
    clockMs = 1_000;
    store = open();
  });
  afterEach(async () => {
    await store.close();
  });

  test('keeps what a step decided', async () => {
    expect(await store.read(ref)).toBeNull();
    expect(await store.update(ref, null, start)).toMatchObject({ kind: 'begun' });
    const work = { ...WORK, tries: 1 };
    const intent = { highestFence: 5, sealed: false, state: 'intent', work, outcome: null };
    expect(await store.read(ref)).toEqual(intent);
    const outcome = { kind: 'succeeded', result: { ids: [1, 'ü', null] } } as const;
    expect(await store.update(ref, null, finish(outcome))).toEqual(outcome);
    expect(await store.read(ref)).toMatchObject({ state: 'finished', outcome });
  });

  test('a fence is as large as microseconds since the epoch', async () => {
    const fence = 1_767_225_600_000_001;
    await store.update(ref, null, fenceOff(fence, 'seal'));
    expect(await store.read(ref)).toMatchObject({ highestFence: fence, sealed: true });
    const late = begin({ fence: fence - 1, work: WORK, again: false, anew: false });
    expect(await store.update(ref, null, late)).toMatchObject({ highestFence: fence });
  });

  test('the first result stands', async () => {
    await store.update(ref, null, start);
    const first = { kind: 'failed', errorCode: 'no', detail: '' } as const;
    await store.update(ref, null, finish(first));
    expect(await store.update(ref, null, finish({ kind: 'cancelled' }))).toEqual(first);
  });

  test('of many at once, one begins', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => store.update(ref, null, start)));
    expect(all.filter(({ kind }) => kind === 'begun')).toHaveLength(1);
    expect(all.filter(({ kind }) => kind === 'intent')).toHaveLength(19);
  });

  test('an action is one of its tenant', async () => {
    await store.update(ref, null, start);
    expect(await store.read({ ...ref, tenant: 'umbrella' })).toBeNull();
  });

  test('a token is used up by its first step, also by one that refuses', async () => {
    const token = { jti: 'j1', expiresAtMs: 9_000 };
    await store.update(ref, null, fenceOff(9, 'seal'));
    const late = begin({ fence: 8, work: WORK, again: false, anew: false });
    expect(await store.update(ref, token, late)).toMatchObject({ refusal: 'stale_fence' });
    const again = await store.update(
      ref,
      token,
      begin({ fence: 10, work: WORK, again: false, anew: false }),
    );
    expect(again).toMatchObject({ refusal: 'token_replayed', started: false, highestFence: 9 });
  });

  test('forgets old records in bounded steps, never an open intent', async () => {
    for (const action of ['a', 'b', 'c']) {
      await store.update({ ...ref, action }, null, fenceOff(1, 'tombstone'));
    }
    await store.update(ref, null, start);
    clockMs = 2_000;
    await store.update({ ...ref, action: 'young' }, null, fenceOff(1, 'seal'));
    const bounds = { nowMs: 3_000, changedBeforeMs: 2_000, limit: 2 };
    expect(await store.prune(bounds)).toBe(2);
    expect(await store.prune(bounds)).toBe(1);
    expect(await store.prune(bounds)).toBe(0);
    expect(await store.read(ref)).not.toBeNull();
    expect(await store.read({ ...ref, action: 'young' })).not.toBeNull();
  });

  test('a token is forgotten once it has expired, and not before', async () => {
    const token = { jti: 'j1', expiresAtMs: 3_000 };
    const seen = async (): Promise<boolean> =>
      await store.update(ref, token, (_record, used) => ({ record: null, answer: used }));
    expect(await seen()).toBe(false);
    await store.prune({ nowMs: 3_000, changedBeforeMs: 0, limit: 10 });
    expect(await seen()).toBe(true);
    await store.prune({ nowMs: 3_001, changedBeforeMs: 0, limit: 10 });
    expect(await seen()).toBe(false);
  });

  test('remembers the lifecycle sequence', async () => {
    expect(await store.lifecycleSequence()).toBe(0);
    await store.rememberLifecycleSequence(12);
    expect(await store.lifecycleSequence()).toBe(12);
  });

  test('a step that throws changes nothing and uses no token', async () => {
    const token = { jti: 'j2', expiresAtMs: 9_000 };
    const broken = store.update(ref, token, () => {
      throw new Error('broken');
    });
    await expect(broken).rejects.toThrow('broken');
    expect(await store.read(ref)).toBeNull();
    const used = await store.update(ref, token, (_record, seen) => ({
      record: null,
      answer: seen,
    }));
    expect(used).toBe(false);
  });
});

test('a sqlite store keeps its epoch and records; another file is another epoch', async () => {
  const file = folder.file('kept');
  const first = sqliteStore(file);
  await first.update(ref, null, start);
  const { epoch } = first;
  await first.close();
  const second = sqliteStore(file);
  expect(second.epoch).toBe(epoch);
  expect(await second.read(ref)).toMatchObject({ state: 'intent' });
  await second.close();
  const other = sqliteStore(folder.file('other'));
  expect(other.epoch).not.toBe(epoch);
  await other.close();
});

test('a second process cannot open a sqlite store that is open', async () => {
  const file = folder.file('locked');
  const store = sqliteStore(file);
  const child = spawn(process.execPath, ['-e', SECOND, DRIVER, file], { stdio: 'ignore' });
  const code = await new Promise((resolve) => child.once('exit', resolve));
  expect(code).toBe(5);
  await store.close();
});

test('a store that another connection holds, or that is none, says so', async () => {
  const file = folder.file('taken');
  const store = sqliteStore(file);
  expect(refusalOf(() => sqliteStore(file))).toMatchObject({ code: 'store_in_use' });
  await store.close();
  writeFileSync(folder.file('text'), 'this is no database, however long it may be'.repeat(100));
  const none = () => sqliteStore(folder.file('text'));
  expect(refusalOf(none)).toMatchObject({ code: 'config_invalid' });
});

function refusalOf(open: () => HostStore): unknown {
  try {
    open();
    return null;
  } catch (error) {
    return error;
  }
}

const DRIVER = path.join(__dirname, '..', '..', '..', 'dist', 'hosts', 'sqlite.js');
const SECOND = `
  const [, driver, file] = process.argv;
  const { isBusy, openSqlite } = require(driver);
  try {
    openSqlite(file, { busyTimeoutMs: 50 }).prepare('select * from meta').all();
  } catch (error) {
    process.exit(isBusy(error) ? 5 : 6);
  }
`;
