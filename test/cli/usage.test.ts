/**
 * How commands are called, and how they fail when called in a wrong way. Real: the processes. No
 * server is needed. Asserted: exit codes, one line on standard error, help with an example.
 */
import { failureOf, newHome, removeHomes, waybill } from './waybill';

afterAll(removeHomes);

const COMMANDS = [
  ['up'],
  ['api'],
  ['worker'],
  ['host'],
  ['migrate'],
  ['apply'],
  ['diff'],
  ['deliver'],
  ['deliveries'],
  ['deliveries', 'list'],
  ['deliveries', 'show'],
  ['deliveries', 'replay'],
  ['replay'],
  ['replay', 'plan'],
  ['replay', 'watch'],
  ['events'],
  ['events', 'list'],
  ['events', 'follow'],
  ['events', 'sinks'],
  ['actions'],
  ['actions', 'start'],
  ['actions', 'list'],
  ['actions', 'show'],
  ['actions', 'cancel'],
  ['routes'],
  ['routes', 'list'],
  ['routes', 'show'],
  ['fleet'],
  ['fleet', 'status'],
  ['fleet', 'export'],
  ['receipt'],
  ['receipt', 'verify'],
  ['scheme'],
  ['scheme', 'list'],
  ['scheme', 'show'],
  ['scheme', 'test'],
  ['scheme', 'try'],
  ['evidence'],
  ['evidence', 'new-key'],
  ['evidence', 'sign'],
  ['approvals'],
  ['approvals', 'list'],
  ['approvals', 'approve'],
  ['approvals', 'deny'],
  ['approvals', 'sign'],
  ['actions', 'resolve'],
  ['certify'],
  ['conformance'],
  ['connectors'],
  ['connectors', 'list'],
  ['connectors', 'show'],
  ['subscriptions'],
  ['subscriptions', 'create'],
  ['qualify'],
  ['qualify', 'verify'],
];

test('every command explains itself with an example', async () => {
  const explained = COMMANDS.map(async (command) => {
    const { code, stdout, stderr } = await waybill([...command, '--help']);
    expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: '' });
    expect(stdout).toContain(`Usage: waybill ${command.join(' ')}`);
    expect(stdout).toMatch(/\nExample.*:?.*\n {2}\$ .*\n/);
  });
  await Promise.all(explained);
});

test('without a command it prints its help, and the target of the example stays hidden', async () => {
  const { code, stdout } = await waybill([]);
  expect(code).toBe(0);
  expect(stdout).toContain('deliveries');
  expect(stdout).not.toContain('demo-receiver');
});

test('the version is that of the package', async () => {
  const { stdout } = await waybill(['--version']);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test.each([
  ['an unknown command', ['delivery'], "unknown command 'delivery'"],
  ['an unknown command of a group', ['deliveries', 'lst'], 'Did you mean list?'],
  ['a group without a command', ['deliveries'], 'list, show, replay'],
  ['an unknown option', ['up', '--stroy'], 'Did you mean --story?'],
  ['a missing argument', ['deliveries', 'show'], "missing required argument 'delivery'"],
  ['a missing option', ['apply'], '-f, --file <file>'],
  ['a state that there is not', ['deliveries', 'list', '--state', 'failed'], 'Failed'],
  ['a time that is none', ['deliveries', 'list', '--since', 'soon'], '15m, 2h or 7d'],
  ['an action state that there is not', ['actions', 'list', '--state', 'Failed'], 'failed'],
  [
    'a request that is neither JSON nor a file',
    ['actions', 'start', 'x', '--id', 'a', '--request', '{"a"'],
    'neither JSON nor a file',
  ],
  [
    'a time to wait that is none',
    ['actions', 'start', 'x', '--id', 'a', '--request', '{}', '--wait', 'long'],
    '30s, 5m or 2h',
  ],
  ['a cancelling without a reason', ['actions', 'cancel', 'a'], '--reason <text>'],
  ['a part that there is not', ['api', '--serve', 'web'], 'api, ingress, lifecycle, admin'],
  ['a story of another fleet', ['up', '--story', '--fleet', 'x.yaml'], '--story'],
])('%s is one line that says what to do instead', async (_what, args, remedy) => {
  const ended = await waybill(args);
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  const { message } = failureOf(ended);
  expect(message).toMatch(/; see `waybill.* --help`$/);
  expect(message).toContain(remedy);
});

interface Wrong {
  readonly what: string;
  readonly args: readonly string[];
  readonly names: string;
  readonly code: string;
  readonly env?: Readonly<Record<string, string>>;
}

const WRONG: readonly Wrong[] = [
  {
    ...{ what: 'a development key for everybody', args: ['api'] },
    ...{ names: 'WAYBILL_TOKEN_JWKS_URL', code: 'dev_key_outside_loopback' },
    env: { WAYBILL_HOST: '0.0.0.0', DATABASE_URL: 'postgres://127.0.0.1:1/db' },
  },
  {
    // Nobody asks an ingress for a token: what it still needs is the next thing.
    ...{ what: 'no database for an ingress alone', args: ['api', '--serve', 'ingress'] },
    ...{ names: '127.0.0.1:1/db', code: 'storage_unavailable' },
    env: { WAYBILL_HOST: '0.0.0.0', DATABASE_URL: 'postgres://127.0.0.1:1/db' },
  },
  {
    ...{ what: "no database behind a role's own login", args: ['api'] },
    ...{ names: 'see WAYBILL_DATA_DATABASE_URL', code: 'storage_unavailable' },
    env: {
      DATABASE_URL: 'postgres://127.0.0.1:1/admin',
      WAYBILL_DATA_DATABASE_URL: 'postgres://127.0.0.1:1/own',
    },
  },
  { what: 'no database', args: ['migrate'], names: 'DATABASE_URL', code: 'config_invalid' },
  { what: 'no database', args: ['api'], names: 'DATABASE_URL', code: 'config_invalid' },
  {
    what: 'no API',
    args: ['deliveries', 'list'],
    names: 'WAYBILL_API_URL',
    code: 'config_invalid',
  },
  {
    ...{ what: 'a wrong setting', args: ['worker'], names: 'WAYBILL_POOL_SIZE' },
    ...{ code: 'config_invalid', env: { WAYBILL_POOL_SIZE: 'many' } },
  },
  {
    ...{ what: 'a wrong port', args: ['up'], names: 'WAYBILL_TEMPORAL_PORT' },
    ...{ code: 'config_invalid', env: { WAYBILL_TEMPORAL_PORT: 'x' } },
  },
  {
    ...{ what: 'no such file', args: ['apply', '-f', 'nowhere.yaml'] },
    ...{ names: 'nowhere.yaml', code: 'fleet_unreadable' },
  },
  {
    ...{ what: 'no such file', args: ['receipt', 'verify', 'nowhere.json'] },
    ...{ names: 'nowhere.json', code: 'receipt_invalid' },
  },
];

test.each(WRONG)('$what: `waybill $args.0` names it', async ({ args, env, names, code }) => {
  const ended = await waybill(args, { WAYBILL_HOME: newHome(), ...env });
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  const failure = failureOf(ended);
  expect(failure.message).toContain(names);
  expect(failure.code).toBe(code);
});

test('servers that do not answer are named, without their password', async () => {
  const away = {
    DATABASE_URL: 'postgres://someone:hidden@127.0.0.1:1/db',
    WAYBILL_HOME: newHome(),
  };
  for (const args of [['migrate'], ['apply', '-f', 'examples/fleet.yaml'], ['api']]) {
    const { message, code } = failureOf(await waybill(args, away));
    expect(code).toBe('storage_unavailable');
    expect(message).toContain('127.0.0.1:1/db does not answer');
    expect(message).not.toContain('hidden');
  }
  const noApi = await waybill(['deliveries', 'list'], {
    ...{ WAYBILL_HOME: newHome(), WAYBILL_TOKEN: 'x', WAYBILL_API_URL: 'http://127.0.0.1:1' },
  });
  const { message, code } = failureOf(noApi);
  expect(code).toBe('api_unreachable');
  expect(message).toContain('http://127.0.0.1:1');
});

test('a stack trace comes only when the log level asks for it', async () => {
  const env = { WAYBILL_HOME: newHome(), WAYBILL_LOG_LEVEL: 'debug' };
  const { stderr } = await waybill(['migrate'], env);
  expect(stderr).toMatch(/^waybill: .*\n.*\n +at /);
});
