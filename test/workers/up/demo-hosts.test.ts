/** The hosts that `waybill up` runs, and the secrets it makes. Real: the example, keys and files. */
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { didOfKey } from '../../../src/signing/did-key';
import { importSigningKey } from '../../../src/signing/keys';
import { withDemoHosts } from '../../../src/workers/up/demo-hosts';
import { exampleSecrets } from '../../../src/workers/up/example-secrets';
import { EXAMPLE_FLEET, readUpFleet, tenantsOf } from '../../../src/workers/up/fleet';
import { upSettings } from '../../../src/workers/up/settings';
import { newHome, removeHomes } from '../../cli/waybill';

afterAll(removeHomes);

const example = () => readUpFleet(EXAMPLE_FLEET, 'http://127.0.0.1:7300');

test('each gets a key that only its owner can read, and the fleet its DID and address', async () => {
  const settings = await upSettings({ WAYBILL_HOME: newHome(), WAYBILL_FIRST_HOST_PORT: '7491' });
  const { fleet, hosts } = await withDemoHosts(await example(), settings);
  expect(hosts).toMatchObject([
    {
      ...{ name: 'host-1', url: 'http://127.0.0.1:7491', tenant: 'acme', connector: 'tickets' },
      ...{ instance: 'tickets-acme', version: '1.0.0', credentials: ['r1'] },
    },
    { name: 'host-2', url: 'http://127.0.0.1:7392' },
  ]);
  for (const { keyFile } of hosts) expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  const dids = await Promise.all(
    hosts.map(async ({ keyFile }) => {
      const { publicJwk } = await importSigningKey(readFileSync(keyFile, 'utf8'));
      return didOfKey(publicJwk.x);
    }),
  );
  const published = fleet.replicas.map(({ thing }) => thing);
  expect(published.map(({ peer }) => peer.did)).toEqual(dids);
  expect(published.map(({ endpoint }) => endpoint)).toEqual(hosts.map(({ url }) => url));
  expect(published.map(({ id }) => id)).toEqual(hosts.map(({ replicaId }) => replicaId));
});

test('a later start has the same hosts; another port is another replica, whose key stays', async () => {
  const home = newHome();
  const hostsAt = async (port: string) => {
    const settings = await upSettings({ WAYBILL_HOME: home, WAYBILL_FIRST_HOST_PORT: port });
    return (await withDemoHosts(await example(), settings)).hosts;
  };
  const first = await hostsAt('7391');
  expect(await hostsAt('7391')).toEqual(first);
  const [moved, stayed] = await hostsAt('7491');
  expect(stayed).toEqual(first[1]);
  expect(moved?.replicaId).toMatch(/^tickets-acme-1-[0-9a-f]{6}$/);
  expect(moved?.replicaId).not.toBe(first[0]?.replicaId);
  expect(moved?.keyFile).toBe(first[0]?.keyFile);
});

test('a fleet of other hosts is left as it is', async () => {
  const settings = await upSettings({ WAYBILL_HOME: newHome() });
  const { replicas, ...rest } = await example();
  const own = replicas.map((placed) => ({
    ...placed,
    thing: { ...placed.thing, peer: { ...placed.thing.peer, did: 'did:key:z6MkOwn' } },
  }));
  const fleet = { replicas: own, ...rest };
  expect(await withDemoHosts(fleet, settings)).toEqual({ fleet, hosts: [] });
  expect(tenantsOf({ ...fleet, subscriptions: [] })).toEqual(['acme']);
});

test('secrets of an older version are kept, and those that it lacked are made', () => {
  const home = newHome();
  mkdirSync(path.join(home, 'keys'));
  const file = path.join(home, 'keys', 'example-secrets.json');
  const older = { WAYBILL_EXAMPLE_GITHUB_SECRET: 'a', WAYBILL_EXAMPLE_TARGET_SECRET: 'b' };
  writeFileSync(file, JSON.stringify(older));
  chmodSync(file, 0o600);
  const secrets = exampleSecrets(home, {});
  expect(secrets).toMatchObject(older);
  expect(secrets.WAYBILL_EXAMPLE_PROVIDER_TOKEN).toHaveLength(64);
  expect(exampleSecrets(home, {})).toEqual(secrets);
  const given = { WAYBILL_EXAMPLE_PROVIDER_TOKEN: 'c', WAYBILL_EXAMPLE_GITHUB_SECRET: '' };
  expect(exampleSecrets(home, given)).toEqual({ ...secrets, WAYBILL_EXAMPLE_PROVIDER_TOKEN: 'c' });
});
