/**
 * `waybill approvals` and `waybill actions resolve`: from an approver's key to a token that the deployment
 * takes, and what people decide over the API. Real: the processes, keys, socket, server and Postgres.
 */
import { createHash } from 'node:crypto';
import { statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readTrustedApprovers } from '../../src/db/approvers';
import { verifyApproval } from '../../src/signing/approvals/verify';
import { askApproval } from '../../src/db/approvals';
import { tenantId } from '../../src/domain/ids';
import { ApprovalPage } from '../../src/schemas/api-approvals';
import { ACTIONS_OPERATE, ACTIONS_READ, ACTIONS_RUN, Harness } from '../http/harness';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import {
  environmentOf,
  failureOf,
  newHome,
  removeHomes,
  waybill,
  type Environment,
} from './waybill';

let h: Harness;
let rig: Rig;
let home: string;
let env: Environment;
beforeAll(async () => {
  h = await Harness.start();
  home = newHome();
  rig = new Rig(postgresFixture(h.db));
  await rig.account();
  env = await environmentOf(
    h,
    ACTIONS_READ,
    ACTIONS_RUN,
    ACTIONS_OPERATE,
    'factory.actions.approve',
  );
});
afterAll(async () => {
  await h.stop();
  removeHomes();
});

const run = (...args: readonly string[]) =>
  waybill(args, { DATABASE_URL: h.db.url, WAYBILL_HOME: home });
const file = (name: string, text?: string) => {
  const at = path.join(home, name);
  if (text !== undefined) writeFileSync(at, text);
  return at;
};
const sign = (...more: readonly string[]) =>
  run(
    ...['approvals', 'sign', '--key', `file:${file('kate.jwk')}`, '--as', 'kate@example.com'],
    ...['--tenant', 'acme', '--about', 'action/refund-1', ...more],
  );

test('a key, a trusted name and a request make an approval', async () => {
  const made = await run('approvals', 'new-key', file('kate.jwk'));
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(statSync(file('kate.jwk')).mode & 0o777).toBe(0o600);
  const approvers = `trustedApprovers: { kate@example.com: { keys: [${made.stdout.trim()}] } }\n`;
  const settings = file('fleet.yaml', `kind: Settings\napprovalTtl: 2h\n${approvers}`);
  expect(await run('apply', '-f', settings)).toMatchObject({ code: 0, stderr: '' });
  const signed = await sign('--request', file('refund.json', '{ "to": "Ann", "cents": 500 }'));
  expect(signed).toMatchObject({ code: 0, stderr: '' });
  const { trusted, nowMs } = await readTrustedApprovers(h.db.as('waybill_data'));
  const verdict = await verifyApproval(signed.stdout.trim(), {
    ...{ tenantId: 'acme', about: 'action/refund-1', nowMs, trusted },
    requestDigest: createHash('sha256').update('{"cents":500,"to":"Ann"}').digest('hex'),
  });
  expect(verdict).toMatchObject({ ok: true, approval: { approver: 'kate@example.com' } });
});

test.each([
  ['neither request nor digest', [], '--request: give either'],
  ['both of them', ['--request', '{}', '--digest', 'd4'.repeat(32)], '--request: give either'],
  ['a digest that is none', ['--digest', 'latest'], '--digest: write a SHA-256'],
  ['a token for a year', ['--request', '{}', '--expires', '365d'], '--expires: must be later'],
  ['a thing of no kind', ['--request', '{}', '--about', 'refund-1'], '--about: write action/ID'],
  ['a key that is not there', ['--request', '{}', '--key', 'env:NO_SUCH_KEY'], '--key: '],
])('%s is told by its option', async (_what, more, problem) => {
  expect(failureOf(await sign(...more)).message).toContain(problem);
});

describe('over the API', () => {
  beforeAll(async () => {
    await h.db.rows(`update waybill.capabilities set side_effect = 'external'`);
    for (const actionId of ['refund-1', 'refund-2']) {
      await rig.start(actionId);
      await askApproval(h.db.as('waybill_data'), { tenantId: tenantId('acme'), actionId }, 60_000);
    }
    await h.db.rows(`update waybill.actions set requested_by = 'max'`);
  });
  const decide = (verb: string, action: string, ...more: readonly string[]) =>
    waybill(['approvals', verb, action, '--reason', 'so', ...more], env);

  test('what waits is listed, and says how to go on', async () => {
    const listed = await waybill(['approvals', 'list'], env);
    expect(listed.stdout).toMatch(/^ACTION +CAPABILITY +REQUESTED BY +ASKED +EXPIRES$/m);
    expect(listed.stdout).toMatch(/refund-1 [^]*refund-2 /);
    const page = await waybill(['approvals', 'list', '--limit', '1', '--json'], env);
    expect(ApprovalPage.parse(JSON.parse(page.stdout)).approvals).toHaveLength(1);
    const shown = (await waybill(['actions', 'show', 'refund-1'], env)).stdout;
    expect(shown).toContain('somebody other than max runs `waybill approvals approve refund-1');
    expect(shown).toMatch(/^APPROVAL$[^]*asked, until/m);
    const waiting = (await waybill(['actions', 'list', '--waiting'], env)).stdout;
    expect(waiting).toMatch(/refund-1 +awaiting_approval/);
  });

  test('approve and deny decide once', async () => {
    expect((await decide('approve', 'refund-1')).stdout).toBe('refund-1 is approved\n');
    expect((await decide('approve', 'refund-1')).stdout).toBe('refund-1 is approved already\n');
    expect(failureOf(await decide('deny', 'refund-1'))).toMatchObject({
      ...{ code: 'approval_not_waiting', message: expect.stringContaining('approved') as string },
    });
    const { stdout } = await decide('deny', 'refund-2', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ decision: 'denied', action: { state: 'failed' } });
    const shown = (await waybill(['actions', 'show', 'refund-1'], env)).stdout;
    expect(shown).toMatch(/ada@example.test \(api\)/);
    expect((await waybill(['approvals', 'list'], env)).stdout).toBe(
      'nothing waits for an approval\n',
    );
  });

  test('actions start carries a signed approval and what a policy has said', async () => {
    const start = (...more: readonly string[]) =>
      waybill(
        ['actions', 'start', 'tickets.create', '--id', 'refund-3', '--request', '{}', ...more],
        env,
      );
    expect(failureOf(await start('--no-await-approval')).code).toBe('approval_required');
    expect(failureOf(await start('--approval', 'a.b.c')).code).toBe('approval_refused');
    const wrong = await start('--policy-decision', '{"id":"d-1"}');
    expect(failureOf(wrong).message).toContain('--policy-decision.decision');
    const policy = ['--policy-decision', '{"id":"d-1","decision":"allow","policy":"refunds@7"}'];
    const token = (await sign('--about', 'action/refund-3', '--request', '{}')).stdout.trim();
    expect(await start('--approval', token, ...policy)).toMatchObject({ code: 0 });
    const shown = (await waybill(['actions', 'show', 'refund-3'], env)).stdout;
    expect(shown).toMatch(/policy +.*refunds@7/);
    expect(shown).toMatch(/kate@example.com \(token\)/);
  });

  test('actions resolve says what became of one', async () => {
    await rig.start('doubt');
    for (const state of ['reserved', 'unknown', 'reconciling', 'needs_operator']) {
      await h.db.rows(`update waybill.actions set state = $1 where action_id = 'doubt'`, [state]);
    }
    const resolve = (...more: readonly string[]) =>
      waybill(['actions', 'resolve', 'doubt', '--reason', 'it is there', ...more], env);
    expect((await waybill(['actions', 'show', 'doubt'], env)).stdout).toContain(
      '`waybill actions resolve doubt --outcome',
    );
    expect((await resolve('--outcome', 'done')).code).toBe(2);
    expect((await resolve('--outcome', 'completed')).stdout).toBe('doubt is completed\n');
    expect(failureOf(await resolve('--outcome', 'retry')).code).toBe('resolution_refused');
  });
});
