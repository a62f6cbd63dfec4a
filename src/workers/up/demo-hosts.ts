/**
 * The hosts that `waybill up` runs: those replicas of the fleet that have the example's placeholder
 * for a key. Each gets a key of this folder and an address of this machine.
 */
import { createHash } from 'node:crypto';
import type { Fleet } from '../../schemas/fleet';
import { demoHostKey } from '../signing-keys';
import { localUrl, type LocalPort, type UpSettings } from './settings';

export interface DemoHost {
  readonly name: 'host-1' | 'host-2';
  readonly port: LocalPort;
  readonly url: string;
  /** Absolute. */
  readonly keyFile: string;
  readonly replicaId: string;
  readonly tenant: string;
  readonly instance: string;
  readonly connector: string;
  readonly version: string;
  readonly credentials: readonly string[];
}

/** The keys that stand in examples/fleet.yaml; nobody has their private halves. */
const PLACEHOLDERS = [
  {
    name: 'host-1',
    port: 'firstHost',
    did: 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK',
  },
  {
    name: 'host-2',
    port: 'secondHost',
    did: 'did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp',
  },
] as const;

/**
 * Puts real keys and addresses in the place of the example's.
 * @throws WaybillError `config_invalid` when the home folder does not serve
 */
export async function withDemoHosts(
  fleet: Fleet,
  settings: UpSettings,
): Promise<{ readonly fleet: Fleet; readonly hosts: readonly DemoHost[] }> {
  const hosts: DemoHost[] = [];
  const replicas = [...fleet.replicas];
  for (const placeholder of PLACEHOLDERS) {
    const index = replicas.findIndex(({ thing }) => thing.peer.did === placeholder.did);
    const found = replicas[index];
    const instance = fleet.instances.find(
      ({ thing }) => thing.tenant === found?.thing.tenant && thing.id === found.thing.instance,
    )?.thing;
    if (found === undefined || instance === undefined) continue;
    const { name, port } = placeholder;
    const { file: keyFile, did } = await demoHostKey(settings.home, name);
    const url = localUrl(settings, port);
    const replicaId = `${found.thing.id}-${markOf(did, url)}`;
    const peer = { ...found.thing.peer, did };
    replicas[index] = { ...found, thing: { ...found.thing, id: replicaId, endpoint: url, peer } };
    hosts.push({
      ...{ name, port, url, keyFile, replicaId },
      tenant: instance.tenant,
      instance: instance.id,
      connector: instance.connector,
      version: found.thing.version ?? instance.version,
      credentials: instance.credentials.map(({ revision }) => revision),
    });
  }
  return { fleet: { ...fleet, replicas }, hosts };
}

/**
 * Key and address of a replica are for good, so others need another id: a port may change, and a
 * database may have seen another home folder.
 */
function markOf(did: string, url: string): string {
  return createHash('sha256').update(`${did} ${url}`).digest('hex').slice(0, 6);
}
