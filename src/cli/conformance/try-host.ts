/** Waits for a host to register, then runs the suite against it. */
import { randomUUID } from 'node:crypto';
import { LifecycleService, type Registration } from '../../conformance/lifecycle-service';
import { runConformance } from '../../conformance/suite';
import type { ConformanceSubject } from '../../conformance/subject';
import { SUITE_VERSION, type CaseResult } from '../../domain/conformance';
import { WaybillError } from '../../domain/errors';
import { ROUTE_TOKEN_ISSUER, routeTokenTrust } from '../../hosts/protocol/route-tokens';
import { HostManifestSchema } from '../../schemas/host-messages';
import { generateKeyText, importSigningKey } from '../../signing/keys';
import { namingPort } from '../../workers/naming-port';
import type { ConformanceOptions } from './options';
import { endRequested } from '../support/signals';
import { conformanceInputs, type ConformanceInputs } from './inputs';

export interface HostReport {
  readonly suiteVersion: string;
  readonly subject: ConformanceSubject;
  readonly cases: readonly CaseResult[];
}

/**
 * @param say tells people how far it is
 * @throws WaybillError `config_invalid`; `port_in_use`; `host_turned_away` when no host registers
 */
export async function tryHost(
  options: ConformanceOptions,
  say: (line: string) => void,
): Promise<HostReport> {
  const inputs = await conformanceInputs(options);
  const key = await importSigningKey(await generateKeyText());
  const { hostPid, listen } = inputs;
  const lifecycle = await namingPort({ ...listen, setting: '--listen' }, () =>
    LifecycleService.listen({
      ...{ listen, audience: options.audience, trust: routeTokenTrust([key]) },
      did: options.did ?? null,
      terminate: hostPid === null ? null : () => process.kill(hostPid, 'SIGTERM'),
      nowMs: Date.now,
    }),
  );
  try {
    say(`waiting for the host to register at ${lifecycle.url} (WAYBILL_HOST_LIFECYCLE_URL) …`);
    const registered = await lifecycle.registration(inputs.waitMs);
    if (registered === null) throw nobody(lifecycle.registered, options.wait);
    say(`${registered.replicaId} registered as ${registered.did}`);
    const subject = await subjectOf(options, inputs, registered);
    const { cases, webhooks } = inputs;
    const results = await runConformance(
      {
        ...{
          subject,
          issuer: ROUTE_TOKEN_ISSUER,
          key,
          cases,
          webhooks,
          lifecycle,
          contracts: null,
        },
        ...{ strangerKey: await importSigningKey(await generateKeyText()), seed: randomUUID() },
        ...{ nowMs: Date.now, signal: endRequested() },
      },
      ({ id, verdict, durationMs }) => {
        say(`${verdict} ${id} (${durationMs} ms)`);
      },
    );
    return { suiteVersion: SUITE_VERSION, subject, cases: results };
  } finally {
    await lifecycle.close();
  }
}

/** Connector and version are the manifest's own; that it is one is for a case to judge. */
async function subjectOf(
  { tenant, instance, credential }: ConformanceOptions,
  { endpoint, transportProfile }: ConformanceInputs,
  registered: Registration,
): Promise<ConformanceSubject> {
  const { replicaId, did, manifestDigest, storeEpoch, incarnation } = registered;
  const { connectorId, version } = await ownNames(endpoint);
  return {
    ...{ endpoint, transportProfile, peerDid: did, replicaId, incarnation, storeEpoch },
    ...{ tenantId: tenant, instanceId: instance, credentialRevision: credential },
    ...{ connectorId, version, manifestDigest },
  };
}

async function ownNames(endpoint: string): Promise<{ connectorId: string; version: string }> {
  const unknown = { connectorId: 'unknown', version: 'unknown' };
  const url = `${endpoint.replace(/\/+$/, '')}/v1/manifest`;
  try {
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(10_000) });
    return HostManifestSchema.safeParse(await response.json()).data ?? unknown;
  } catch {
    return unknown;
  }
}

function nobody(problem: string | null, wait: string): WaybillError {
  const detail =
    problem === null
      ? `no host has registered within ${wait}`
      : `no host has registered: ${problem}`;
  return new WaybillError('host_turned_away', detail);
}
