/** Which processes of Waybill `waybill up` starts, and with which arguments. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { DemoHost } from './demo-hosts';
import type { ExampleSecrets } from './example-secrets';
import type { ProcessDefinition } from './processes';
import { localUrl, type UpSettings } from './settings';

/** Nobody at a keyboard waits for the 10 s of a deployment. */
const HEARTBEAT = '1s';

/** The provider's only account. */
const PROVIDER_ACCOUNT = 'demo';

/** What every fleet needs, all of which may start at once. */
export function coreDefinitions({ ports }: UpSettings): ProcessDefinition[] {
  return [
    {
      name: 'receiver',
      title: 'waybill demo-receiver',
      args: ['demo-receiver', '--port', String(ports.receiver)],
      port: 'receiver',
    },
    {
      name: 'api',
      title: 'waybill api',
      args: ['api', '--serve', 'api,ingress,lifecycle,grpc'],
      port: 'api',
    },
    { name: 'worker', title: 'waybill worker', args: ['worker'], port: 'health' },
  ];
}

/** The product of the demo hosts, with its records in the home folder. */
export function providerDefinition(
  settings: UpSettings,
  { WAYBILL_EXAMPLE_PROVIDER_TOKEN: token }: ExampleSecrets,
): ProcessDefinition {
  const file = path.join(demoFolder(settings), 'provider.sqlite');
  const port = String(settings.ports.provider);
  return {
    name: 'provider',
    title: 'waybill demo-provider',
    args: [
      ...['demo-provider', '--port', port, '--file', file],
      ...['--token', `${PROVIDER_ACCOUNT}=${token}`],
    ],
    port: 'provider',
  };
}

/** A host is ready once the API has registered it; new actions come from its first heartbeat on. */
export function hostDefinition(settings: UpSettings, host: DemoHost): ProcessDefinition {
  const options = {
    replica: host.replicaId,
    tenant: host.tenant,
    connector: host.connector,
    'connector-version': host.version,
    instance: host.instance,
    credentials: host.credentials.join(','),
    key: `file:${host.keyFile}`,
    store: path.join(demoFolder(settings), `${host.replicaId}.sqlite`),
    lifecycle: localUrl(settings, 'api'),
    heartbeat: HEARTBEAT,
    provider: localUrl(settings, 'provider'),
    'provider-token': 'env:WAYBILL_EXAMPLE_PROVIDER_TOKEN',
    listen: `127.0.0.1:${settings.ports[host.port]}`,
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const { name, replicaId, port } = host;
  return { name, title: `waybill host ${replicaId}`, args: ['host', ...args], port };
}

function demoFolder({ home }: UpSettings): string {
  const folder = path.join(home, 'demo');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}
