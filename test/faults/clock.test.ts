/**
 * A worker process whose clock is an hour off carries an action out, and an API judges tokens. Real: the
 * processes, the host, the provider, Postgres, Temporal. Doubled: `Date` of the process, from its first
 * statement on. Asserted: what Postgres counts by its own clock, the claims of the token that the host got,
 * one effect; which tokens the API takes.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import path from 'node:path';
import { issueDevelopmentToken } from '../../src/http/tokens/development';
import { importSigningKey } from '../../src/signing/keys';
import { ActionRig } from '../support/action-rig';
import { WaybillProcess } from '../support/processes';
import { required } from '../support/test-database';
import { until } from '../support/until';

const HOUR_MS = 3_600_000;

let rig: ActionRig;
let way: Server;
/** What went to the host. */
let sent = '';

beforeAll(async () => {
  rig = await ActionRig.start();
  mkdirSync(path.join(rig.folder, 'keys'), { mode: 0o700 });
  writeFileSync(path.join(rig.folder, 'keys', 'receipts.jwk'), rig.keyText, { mode: 0o600 });
  await rig.host(0);
  way = await listenOnTheWay(rig.hosts[0]?.port ?? 0);
  await rig.db.rows(`update waybill.replicas set endpoint = $1 where replica_id = 'h1'`, [
    `http://127.0.0.1:${(way.address() as AddressInfo).port}`,
  ]);
});
afterAll(async () => {
  await rig.stop();
  way.close();
});

/** Passes everything on to the host, and keeps what is asked of it. */
async function listenOnTheWay(port: number): Promise<Server> {
  const server = createServer((client) => {
    const host = connect(port, '127.0.0.1');
    client.on('data', (bytes) => (sent += bytes.toString('latin1')));
    client.pipe(host).pipe(client);
    for (const socket of [client, host]) socket.on('error', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** Of the only token that went to the host. */
function tokenTimes(): { readonly iat: number; readonly exp: number } {
  const tokens = [...sent.matchAll(/authorization: Bearer [^.]+\.([^.]+)\./gi)];
  expect(tokens).toHaveLength(1);
  const claims = Buffer.from(tokens[0]?.[1] ?? '', 'base64url').toString('utf8');
  return JSON.parse(claims) as { iat: number; exp: number };
}

/** A process in which, threads included, it is that much later. */
function ahead(byMs: number, args: readonly string[]): WaybillProcess {
  const preload = path.join(rig.folder, `clock-${byMs}.cjs`);
  writeFileSync(
    preload,
    `const True = Date;
     globalThis.Date = class Date extends True {
       constructor(...given) {
         if (given.length === 0) super(True.now() + ${byMs});
         else super(...given);
       }
       static now() { return True.now() + ${byMs}; }
     };
     process.stderr.write(JSON.stringify({ msg: 'clock', now: Date.now() }) + '\\n');`,
  );
  return new WaybillProcess(args, {
    NODE_OPTIONS: `--require ${preload}`,
    DATABASE_URL: rig.db.url,
    TEMPORAL_ADDRESS: required('WAYBILL_TEST_TEMPORAL_ADDRESS'),
    WAYBILL_TASK_QUEUE_PREFIX: rig.queuePrefix,
    WAYBILL_HOME: rig.folder,
    WAYBILL_HEALTH_PORT: '0',
    WAYBILL_PORT: '0',
    WAYBILL_POOL_SIZE: '4',
  });
}

test('a token is over when it is over, for an API an hour behind, too', async () => {
  const key = await importSigningKey(rig.keyText);
  writeFileSync(path.join(rig.folder, 'keys', 'development-tokens.jwk'), rig.keyText, {
    mode: 0o600,
  });
  const api = ahead(-HOUR_MS, ['api', '--serve', 'api']);
  const statusWith = async (url: string, issuedAgoMs: number) => {
    const issuedAt = new Date(Date.now() - issuedAgoMs);
    const who = {
      tenantId: 'acme',
      subject: 'ada',
      scopes: ['factory.actions.read'],
      lifetimeS: 120,
    };
    const token = await issueDevelopmentToken(key, { ...who, issuedAt });
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${url}/v1/actions/none`, { headers })).status;
  };
  try {
    const { url } = await api.logged('api started');
    expect(await statusWith(String(url), 0)).toBe(404);
    expect(await statusWith(String(url), HOUR_MS / 2)).toBe(401);
  } finally {
    await api.kill();
  }
});

test.each([HOUR_MS, -HOUR_MS])(
  'an action is carried out as ever by a worker that is %i ms ahead',
  async (byMs) => {
    const worker = ahead(byMs, ['worker', '--queues', 'actions']);
    sent = '';
    try {
      const { now } = await worker.logged('clock');
      expect(Math.abs(Number(now) - byMs - Date.now())).toBeLessThan(60_000);
      await worker.logged('worker started');
      await rig.holdEffects(1);
      const ref = await rig.ticket();
      await rig.workflows.ensure(await rig.identity(ref));
      // The host has believed the token and done its work; nobody has heard of it yet.
      await until('the effect is there', () =>
        Promise.resolve(rig.effects(ref) === 1 ? true : null),
      );
      const { iat, exp } = tokenTimes();
      const [attempt] = await rig.db.rows<Readonly<Record<string, number>>>(
        `select extract(epoch from clock_timestamp())::float8 - $2 as issued_ago,
            extract(epoch from t.deadline_at)::float8 - $3 as expires_early,
            extract(epoch from clock_timestamp() - t.opened_at)::float8 as age,
            extract(epoch from t.deadline_at - clock_timestamp())::float8 as left,
            extract(epoch from a.deadline_at - clock_timestamp())::float8 as action_left
          from waybill.route_attempts t join waybill.actions a using (tenant_id, action_id)
          where action_id = $1 and settled_at is null`,
        [ref.actionId, iat, exp],
      );
      for (const seconds of Object.values(attempt ?? {})) {
        expect(seconds).toBeGreaterThan(-1);
        expect(seconds).toBeLessThan(61);
      }
      // It expires with the attempt, in whole seconds.
      expect(attempt?.['expires_early']).toBeLessThan(1.5);
      await rig.holdEffects(0);
      await rig.reaches(ref, 'completed', 30_000);
      expect(rig.effects(ref)).toBe(1);
      const [told] = await rig.db.rows<{ attempts: number; settlements: string[]; late: number }>(
        `select count(*)::integer as attempts, array_agg(settlement) as settlements,
            max(abs(extract(epoch from clock_timestamp() - settled_at)))::float8 as late
          from waybill.route_attempts where action_id = $1`,
        [ref.actionId],
      );
      expect(told).toMatchObject({ attempts: 1, settlements: ['completed'] });
      expect(told?.late).toBeLessThan(60);
      expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
    } finally {
      await worker.kill();
    }
  },
);
