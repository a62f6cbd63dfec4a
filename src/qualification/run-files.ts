/** Files that a run writes beside those of its cases. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { LANES } from '../domain/lanes';
import { processState } from '../workers/embedded/process-identity';
import type { EvidenceFolder } from './evidence/folder';
import { FILES, type CaseRecord, type Teardown } from './evidence/records';
import type { SecretValues } from './evidence/secret-values';
import type { Judge } from './judging/judge';
import { loginOf } from './site/databases';
import { serversFolder } from './site/servers';
import type { Site } from './site/site';
import {
  CAPABILITIES,
  GATEWAYS,
  HOSTS,
  INGRESSES,
  INSTANCES,
  LOGINS,
  TENANTS,
  VERSION,
  type LoginName,
} from './site/topology';

export function topologyOf(site: Site): Readonly<Record<string, unknown>> {
  const { keys, ports } = site;
  return {
    tenants: TENANTS.map((tenant) => ({ tenant, tokenKey: keys.clients[tenant].key.kid })),
    connectors: Object.entries(CAPABILITIES).map(([connector, capabilities]) => ({
      ...{ connector, version: VERSION, capabilities },
    })),
    instances: INSTANCES,
    replicas: HOSTS.map((host) => ({ ...host, peer: keys.hosts[host.name].did })),
    gateways: GATEWAYS,
    subscriptions: LANES.map((lane) => ({ lane, ingress: INGRESSES[lane] })),
    databaseLogins: (Object.keys(LOGINS) as LoginName[]).map((name) => ({
      ...{ login: loginOf(name), role: LOGINS[name] },
    })),
    processes: site.processes.map(({ name, pid }) => ({ name, pid, port: portOf(ports, name) })),
    deploymentKey: keys.deployment.key.kid,
    releaseKey: keys.release.key.kid,
  };
}

function portOf(ports: Site['ports'], name: keyof Site['ports']): number {
  return ports[name];
}

export function writeBaseline(evidence: EvidenceFolder, record: CaseRecord): void {
  const operations = record.findings.find(({ what }) => what === 'operations that passed');
  evidence.json(FILES.baseline, {
    status: record.status,
    cases: operations?.found ?? 0,
    gateways: GATEWAYS.length,
    connector_instances: INSTANCES.length,
    connector_replicas: HOSTS.length,
  });
}

/** Replicas and routes as they stand; what cannot be read now is said to be so. */
export async function routeSnapshot(judge: Judge): Promise<unknown> {
  const at = new Date().toISOString();
  try {
    return { at, replicas: await judge.replicas(), routes: await judge.routes() };
  } catch (error) {
    return { at, unavailable: error instanceof Error ? error.message : String(error) };
  }
}

export async function writeFinalState(evidence: EvidenceFolder, judge: Judge): Promise<void> {
  const at = new Date().toISOString();
  try {
    evidence.json(FILES.registry, {
      at,
      replicas: await judge.replicas(),
      routes: await judge.routes(),
      admissionCounters: await judge.admissionCounters(),
      wrongCounters: await judge.wrongCounters(),
      catalogRevision: await judge.catalogRevision(),
    });
  } catch (error) {
    const unavailable = error instanceof Error ? error.message : String(error);
    evidence.json(FILES.registry, { at, unavailable });
  }
}

/** Stops everything, keeps the logs without their secrets, and says what is wrong with how it ended. */
export async function tearDown(
  site: Site,
  evidence: EvidenceFolder,
  secrets: SecretValues,
): Promise<string[]> {
  const running = site.processes.map((one) => ({ name: one.name, pid: one.pid ?? null }));
  evidence.json(FILES.processes, running);
  await site.stop();
  const left = running.filter(({ pid }) => pid !== null && processState(pid).alive);
  const logs = [
    site.ground.workspace.folder('logs'),
    path.join(serversFolder(site.ground.workspace), 'logs'),
  ];
  const found = logs.flatMap((folder) => keepLogs(folder, evidence, secrets));
  const { path: workspace } = site.ground.workspace;
  site.remove();
  const teardown: Teardown = {
    at: new Date().toISOString(),
    processesLeft: left.map(({ name }) => name),
    endedByThemselves: site.processes.flatMap(({ name, lost }) =>
      lost.map((how) => `${name}: ${how}`),
    ),
    secretsInLogs: Object.fromEntries(found.filter(([, count]) => count > 0)),
    workspaceRemoved: !existsSync(workspace),
  };
  evidence.json(FILES.teardown, teardown);
  return teardownProblems(teardown);
}

/** What is wrong with how a run ended; none: nothing. */
export function teardownProblems(teardown: Teardown): string[] {
  return [
    ...teardown.processesLeft.map((name) => `${name} runs on after the end`),
    ...teardown.endedByThemselves.map((what) => `ended though nobody asked for it: ${what}`),
    ...Object.entries(teardown.secretsInLogs).map(([log, n]) => `${log} had ${n} secrets in it`),
    ...(teardown.workspaceRemoved ? [] : ['the databases of the run are still there']),
  ];
}

/** Copies them, redacted; answers how many secrets stood in each. */
function keepLogs(
  folder: string,
  evidence: EvidenceFolder,
  secrets: SecretValues,
): (readonly [string, number])[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).map((name) => {
    const text = readFileSync(path.join(folder, name), 'utf8');
    evidence.text(`logs/${name}`, text);
    return [`logs/${name}`, secrets.countIn(text)] as const;
  });
}
