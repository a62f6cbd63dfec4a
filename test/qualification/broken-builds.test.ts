/**
 * A build that is broken on purpose turns the matrix red, in the right families. Real: everything; the build is a
 * copy of this one with nine small patches at once, for each shows in a finding that no other one can reach.
 * Asserted: for each patch the finding that gives it away, and that nothing else of the copy failed before it could.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { verifyEvidence } from '../../src/qualification/verify/verify';
import { finished, startWaybill } from '../cli/waybill';

const ROOT = path.join(__dirname, '..', '..');
const RUN_MS = 480_000;

interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

interface Breakage {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** What the run says of it. */
  readonly red: RegExp;
}

const DELIVERY_ID = "headers['waybill-delivery-id'] = id";

const BREAKAGES: readonly Breakage[] = [
  {
    name: 'a host does not compare fences',
    edits: [
      {
        file: 'dist/hosts/kit/decisions.js',
        from: 'return record.sealed ? fence > record.highestFence : fence >= record.highestFence;',
        to: 'return true;',
      },
    ],
    red: /^late-request: answer to the late request: .* instead of "refused stale_fence"/,
  },
  {
    name: 'a host does not look for whom a token is',
    edits: [{ file: 'dist/hosts/kit/checks.js', from: 'token.aud !== self.did', to: 'false' }],
    red: /^replayed-token: answer of another host: .* instead of "refused wrong_audience"/,
  },
  {
    name: 'rows are not kept to their tenant',
    edits: [
      {
        file: 'dist/db/action-lists.js',
        from: 'from waybill.actions a where a.tenant_id = $1 and a.action_id = $2',
        to: "from waybill.actions a where $1 <> '' and a.action_id = $2",
      },
      {
        file: 'migrations/015.do.routing-access.sql',
        from: 'using (tenant_id = waybill.current_tenant())',
        to: 'using (true)',
      },
    ],
    red: /^tenant-isolation: what the other tenant sees of the action: "200" instead of "404 not_found"/,
  },
  {
    name: 'what an attempt took is freed twice',
    edits: [
      {
        file: 'migrations/012.do.capacity.sql',
        from: 'set held = held - 1, released_at',
        to: 'set held = greatest(held - 2, 0), released_at',
      },
    ],
    red: /^gateway-crash-windows: action.stored: quota counters that differ from them: \d+ instead of 0/,
  },
  {
    name: 'repeats of a webhook are not recognised',
    edits: [
      {
        file: 'dist/http/verified-requests.js',
        from: 'dedupKey: described.externalId',
        to: 'dedupKey: described.externalId + Math.random()',
      },
    ],
    red: /^delivery-crash-windows: ingest.committed: durable: deliveries of the event: 2 instead of 1/,
  },
  {
    name: 'a replay has another id',
    edits: [
      {
        file: 'dist/targets/dispatch-request.js',
        from: DELIVERY_ID,
        to: `${DELIVERY_ID} + (info.series > 1 ? '-again' : '')`,
      },
    ],
    red: /^target-down: durable: ids at the target that no delivery has: 3 instead of 0/,
  },
  {
    name: 'the loop of the express lane has attempts beside those of the workflow',
    edits: [
      {
        file: 'migrations/005.do.dispatching.sql',
        from: 'series_attempts = d.series_attempts + 1,',
        to: "series_attempts = d.series_attempts + case d.driver when 'loop' then 0 else 1 end,",
      },
    ],
    red: /^target-down: express: requests while it was down: 12 instead of 9/,
  },
  {
    name: 'receipts are not signed',
    edits: [
      {
        file: 'dist/signing/receipts/sign.js',
        from: 'exports.receiptType, key);',
        to: "exports.receiptType, key).replace(/[^.]*$/, 'AAAA');",
      },
    ],
    red: /^idempotent-replay: receipt chains: -1 instead of 1/,
  },
  {
    name: "a host's place is not freed",
    edits: [
      {
        file: 'migrations/014.do.settling.sql',
        from: 'active_assignments = active_assignments - 1,',
        to: 'active_assignments = active_assignments,',
      },
    ],
    red: /^gateway-crash-windows: action.stored: replica counters that differ from them: \d+ instead of 0/,
  },
];

const CASES = [
  ...[
    'tenant-isolation',
    'idempotent-replay',
    'gateway-crash-windows:action.stored',
    'late-request',
  ],
  ...['replayed-token', 'delivery-crash-windows:ingest.committed', 'target-down'],
];

const folder = mkdtempSync(path.join(tmpdir(), 'waybill-broken-'));
let failures: readonly string[] = [];

/** What the matrix says of a copy of the build with these in it. */
beforeAll(async () => {
  for (const name of [
    'bin',
    'dist',
    'migrations',
    'schemes',
    'package.json',
    'package-lock.json',
  ]) {
    cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  }
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  for (const { file, from, to } of BREAKAGES.flatMap(({ edits }) => edits)) {
    const text = readFileSync(path.join(folder, file), 'utf8');
    if (!text.includes(from)) throw new Error(`${file} does not hold ${from}`);
    writeFileSync(path.join(folder, file), text.replace(from, to));
  }
  const asked = CASES.flatMap((name) => ['--case', name]);
  const args = ['qualify', '--evidence', path.join(folder, 'evidence'), '--json', ...asked];
  const program = path.join(folder, 'bin', 'waybill.js');
  const { code, stdout, stderr } = await finished(startWaybill(args, {}, program));
  expect({ code, said: stderr }).toMatchObject({ code: 1 });
  expect(stderr).toMatch(/\(qualification_failed\)$/m);
  ({ failures } = JSON.parse(stdout) as { readonly failures: readonly string[] });
}, RUN_MS);
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

test.each(BREAKAGES)('$name: it is red where it belongs', ({ red }) => {
  expect(failures).toContainEqual(expect.stringMatching(red));
});

test('the files of a crash window are held against the record in each lane', async () => {
  const evidence = path.join(folder, 'evidence');
  const windows = ['durable', 'express'].map(
    (lane) => `crash/delivery-crash-windows/ingest.committed/${lane}/checkpoint.json`,
  );
  const contradictions = windows.map((name) => `${name} contradicts the record of its case`);
  const before = await verifyEvidence(evidence, null);
  expect(before.problems.filter((one) => contradictions.includes(one))).toEqual([]);
  for (const name of windows) {
    const file = path.join(evidence, name);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('when it was killed": 1', 'when it was killed": 0'));
  }
  const { problems } = await verifyEvidence(evidence, null);
  expect(problems).toEqual(expect.arrayContaining(contradictions));
});

test('nothing was red before anything was broken', () => {
  expect(failures.filter((failure) => failure.startsWith('baseline'))).toEqual([]);
});
