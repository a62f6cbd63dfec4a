/** docker-compose.yml and Dockerfile, read as data: where no engine runs, this is what can be known. */
import { parse } from 'yaml';
import { z } from 'zod';
import { run } from '../../src/cli/program';
import { read } from './repository';

const Service = z.looseObject({
  image: z.string(),
  build: z.string().optional(),
  command: z.union([z.string(), z.array(z.string())]).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).default([]),
  restart: z.string(),
  volumes: z.array(z.string()).default([]),
  healthcheck: z.looseObject({ test: z.array(z.string()) }).optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  deploy: z.object({ replicas: z.number() }).optional(),
  profiles: z.array(z.string()).default([]),
});
type Service = z.infer<typeof Service>;
const Compose = z.looseObject({
  services: z.record(z.string(), Service),
  volumes: z.record(z.string(), z.unknown()),
});

const { services, volumes } = Compose.parse(
  parse(read('docker-compose.yml'), { merge: true }) as unknown,
);
const entries = Object.entries(services);
const dockerfile = read('Dockerfile');

/** A tag that names one release, not one that moves. */
const PINNED = /^[a-z0-9./-]+:(v?\d+\.\d+\.\d+|\d+\.\d+)(-[a-z0-9.-]+)?$/;

/** Runs to its end; everything else runs until it is stopped. */
function isOneShot({ restart }: Service): boolean {
  return restart.startsWith('on-failure') || restart === 'no';
}

function isWaybill({ build }: Service): boolean {
  return build !== undefined;
}

test('every image has a tag of one release', () => {
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image);
  const images = [...entries.map(([, { image }]) => image), ...bases];
  expect(images.length).toBeGreaterThan(0);
  expect(images.filter((image) => !PINNED.test(image))).toEqual([]);
});

test('it has Postgres, Temporal and its UI, two APIs and two workers, and two hosts on request', () => {
  expect(Object.keys(services)).toEqual(
    expect.arrayContaining([
      ...['postgres', 'temporal', 'temporal-ui', 'migrate', 'api', 'lifecycle', 'worker'],
      ...['hosts', 'provider', 'host-1', 'host-2'],
    ]),
  );
  const onRequest = entries.filter(([, { profiles }]) => profiles.includes('hosts'));
  expect(onRequest.map(([name]) => name)).toEqual(['hosts', 'provider', 'host-1', 'host-2']);
  expect(services['api']?.deploy?.replicas).toBe(2);
  expect(services['worker']?.deploy?.replicas).toBe(2);
});

test('each service of Waybill runs a command of the CLI', async () => {
  const commands = entries
    .filter(([, service]) => isWaybill(service))
    .map(([, { command }]) => String(command?.[0]));
  expect(commands).toEqual(expect.arrayContaining(['migrate', 'api', 'worker', 'host']));
  const help = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const exitCodes = await Promise.all(commands.map((command) => run([command, '--help'])));
  help.mockRestore();
  expect(exitCodes).toEqual(commands.map(() => 0));
});

test('every service that runs on has a health check', () => {
  const unchecked = entries.filter(([, service]) => !isOneShot(service) && !service.healthcheck);
  expect(unchecked.map(([name]) => name)).toEqual([]);
});

test('a service waits for what exists, in the way that it can be waited for', () => {
  const wrong = entries.flatMap(([name, { depends_on: wanted }]) =>
    Object.entries(wanted)
      .filter(([other, { condition }]) => {
        const service = services[other];
        const right =
          service && isOneShot(service) ? 'service_completed_successfully' : 'service_healthy';
        return service === undefined || condition !== right;
      })
      .map(([other]) => `${name} waits for ${other}`),
  );
  expect(wrong).toEqual([]);
});

test('each pool has its own login, and no process that runs on is an administrator', () => {
  const held = Object.fromEntries(
    entries.map(([name, { environment }]) => [
      name,
      Object.keys(environment).filter((variable) => variable.endsWith('DATABASE_URL')),
    ]),
  );
  expect(held).toMatchObject({
    migrate: ['DATABASE_URL'],
    api: ['WAYBILL_DATA_DATABASE_URL'],
    lifecycle: ['WAYBILL_LIFECYCLE_DATABASE_URL'],
    worker: ['WAYBILL_DATA_DATABASE_URL', 'WAYBILL_OPERATIONS_DATABASE_URL'],
    control: expect.arrayContaining(['WAYBILL_CONTROL_DATABASE_URL']) as unknown,
    ...{ 'host-1': [], 'host-2': [], provider: [] },
  });
});

test('the API outside loopback has a key set and an issuer', () => {
  expect(services['api']?.environment).toMatchObject({
    WAYBILL_HOST: '0.0.0.0',
    WAYBILL_TOKEN_JWKS_URL: expect.any(String) as unknown,
    WAYBILL_TOKEN_ISSUER: expect.any(String) as unknown,
  });
});

test('ports are published on this machine alone', () => {
  const published = entries.flatMap(([, { ports }]) => ports);
  expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
});

test('each mounted volume is declared', () => {
  const mounted = entries.flatMap(([, service]) =>
    service.volumes.map((mount) => mount.split(':')[0]),
  );
  const named = mounted.filter((source) => /^[a-z]/.test(source ?? ''));
  expect([...new Set(named)].sort()).toEqual(Object.keys(volumes).sort());
});

test('the image runs as an ordinary user', () => {
  const users = [...dockerfile.matchAll(/^USER (\S+)/gm)].map(([, user]) => user);
  expect(users.at(-1)).toBe('node');
});
