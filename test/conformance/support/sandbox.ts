/** A small honest host over the kit, with memory only, and what the suite needs to try it. */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { ConformanceSetup } from '../../../src/conformance/subject';
import type { FinalOutcome, ManifestCapability } from '../../../src/domain/host-protocol';
import { capability, type Capability } from '../../../src/hosts/kit/connector';
import { createHost, type Host, type HostOptions } from '../../../src/hosts/kit/host';
import { memoryStore } from '../../../src/hosts/kit/stores/memory';
import type { ConformanceCases } from '../../../src/schemas/conformance';
import type { SigningKey } from '../../../src/signing/keys';
import { IDENTITY, INCARNATION, ISSUER, trustIn } from '../../hosts/support/fixtures';

const Note = z.strictObject({ text: z.string().min(1) });
const Slow = z.strictObject({ text: z.string().min(1), durationMs: z.int().min(0).max(2_000) });
const Result = z.object({ noteId: z.string() });

export const CASES: ConformanceCases = {
  'notes.slow': {
    valid: [{ text: 'soon', durationMs: 0 }],
    invalid: [],
    slow: { text: 'later', durationMs: 1_500 },
  },
};

/** Two that make notes, one of them slowly, and one that reads. */
export function notes(): Record<string, Capability> {
  let count = 0;
  const made = (): FinalOutcome => {
    count += 1;
    return { kind: 'succeeded', result: { noteId: `N-${String(count)}` } };
  };
  return {
    'notes.create': capability({
      contract: contractOf(Note, { sideEffect: 'shared-write', recovery: 'none' }),
      parse: (body) => Note.parse(body),
      execute: async () => Promise.resolve(made()),
    }),
    'notes.slow': capability({
      contract: contractOf(Slow, { sideEffect: 'shared-write', recovery: 'provider_key' }),
      parse: (body) => Slow.parse(body),
      execute: async ({ signal }, { durationMs }) => {
        const over = await delay(durationMs, 'over', { signal }).catch(() => 'cancelled');
        return over === 'over' ? made() : { kind: 'cancelled' };
      },
    }),
    'notes.read': capability({
      contract: contractOf(Note, { sideEffect: 'read', recovery: 'none' }),
      parse: (body) => Note.parse(body),
      execute: async () => Promise.resolve({ kind: 'succeeded', result: { noteId: 'N-0' } }),
    }),
  };
}

function contractOf(
  request: z.ZodType,
  kind: Pick<ManifestCapability, 'sideEffect' | 'recovery'>,
): Omit<ManifestCapability, 'capabilityId'> {
  return {
    ...{ interfaceName: 'notes', ...kind, timeoutMs: 5_000 },
    requestSchema: z.toJSONSchema(request),
    resultSchema: z.toJSONSchema(Result),
  };
}

export interface SandboxKeys {
  readonly host: SigningKey;
  readonly waybill: SigningKey;
  readonly stranger: SigningKey;
}

export async function notesHost(
  { host, waybill }: SandboxKeys,
  more: Partial<HostOptions> & { readonly alsoTrusted?: readonly SigningKey[] } = {},
): Promise<Host> {
  const { alsoTrusted = [], ...options } = more;
  return await createHost({
    identity: IDENTITY,
    key: host,
    store: memoryStore(),
    capabilities: notes(),
    registration: { incarnation: INCARNATION, trust: trustIn(waybill, ...alsoTrusted) },
    listen: { host: '127.0.0.1', port: 0 },
    graceMs: 200,
    ...options,
  });
}

let runs = 0;

/** What the suite is given for this host; each call is another run. */
export function setupFor(
  host: Pick<Host, 'url' | 'did' | 'manifestDigest' | 'storeEpoch'>,
  keys: SandboxKeys,
  more: Partial<ConformanceSetup> = {},
): ConformanceSetup {
  runs += 1;
  return {
    subject: {
      ...{ endpoint: host.url, transportProfile: 'http-loopback', peerDid: host.did },
      ...{ tenantId: IDENTITY.tenantId, connectorId: IDENTITY.connectorId },
      ...{ version: IDENTITY.version, instanceId: IDENTITY.instanceId },
      ...{ replicaId: IDENTITY.replicaId, incarnation: INCARNATION, storeEpoch: host.storeEpoch },
      ...{ credentialRevision: '7', manifestDigest: host.manifestDigest },
    },
    ...{ issuer: ISSUER, key: keys.waybill, strangerKey: keys.stranger },
    ...{
      cases: CASES,
      contracts: null,
      webhooks: null,
      lifecycle: null,
      seed: `run ${String(runs)}`,
    },
    ...{ nowMs: Date.now, signal: new AbortController().signal },
    ...more,
  };
}
