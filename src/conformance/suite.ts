/**
 * The conformance suite: what docs/host-protocol asks of a host, as cases that are tried over HTTP.
 * It needs no database and no Temporal server, and leaves effects in the sandbox only.
 */
import { hostAgent } from '../hosts/client/exchange';
import { CONFORMANCE_GROUPS, type CaseResult, type ConformanceGroup } from '../domain/conformance';
import type { HostManifest } from '../domain/host-protocol';
import { HostManifestSchema } from '../schemas/host-messages';
import { jsonOf } from '../schemas/json-bytes';
import { basicCases } from './cases/basics';
import { capabilityCases } from './cases/capabilities';
import { fenceCases } from './cases/fences';
import { lifecycleCases } from './cases/lifecycle';
import { recoveryCases } from './cases/recovery';
import { tokenCases } from './cases/tokens';
import { webhookCases } from './cases/webhooks';
import { runCase, type CaseRun, type ConformanceCase } from './run';
import type { Samples } from './samples';
import type { ConformanceSetup } from './subject';

const CONNECTIONS = 4;
/** A host that answers nothing costs a time-out for every call, of up to 10 minutes each. */
const GROUP_LIMIT_MS = 20 * 60_000;

/**
 * Runs one group, case after case. Groups are independent of each other: one that was cut short is run
 * again with another seed. The first case of `basics` that fails is its last, and so is the one at which
 * the group's time is over; without a manifest that can be read, the other groups have no case.
 * @throws what the signal was aborted with, and nothing that a host can do
 */
export async function runConformanceGroup(
  group: ConformanceGroup,
  setup: ConformanceSetup,
  ended: (result: CaseResult) => void = () => undefined,
): Promise<CaseResult[]> {
  const agent = hostAgent(CONNECTIONS);
  const { groupLimitMs = GROUP_LIMIT_MS } = setup;
  const limit = AbortSignal.timeout(groupLimitMs);
  const limited = { ...setup, signal: AbortSignal.any([setup.signal, limit]) };
  const results: CaseResult[] = [];
  try {
    let manifest: HostManifest = NO_MANIFEST;
    const samples = new Map<string, Samples>();
    const read: ConformanceCase = manifestCase((found) => (manifest = found));
    const take = async (one: ConformanceCase): Promise<CaseResult> => {
      setup.signal.throwIfAborted();
      const result = await runCase(one, { setup: limited, agent, manifest, samples });
      setup.signal.throwIfAborted();
      if (!limit.aborted || result.verdict !== 'failed') return result;
      return { ...result, why: `the group was not over within ${String(groupLimitMs)} ms` };
    };
    const first = group === 'webhooks' ? null : await take(read);
    const keep = (result: CaseResult) => {
      results.push(result);
      ended(result);
    };
    if (first !== null && group === 'basics') keep(first);
    if (first !== null && first.verdict !== 'passed') return results;
    for (const one of casesOf(group, setup, manifest)) {
      const result = await take(one);
      keep(result);
      if (result.verdict === 'failed' && (group === 'basics' || limit.aborted)) break;
    }
    return results;
  } finally {
    await agent.destroy();
  }
}

/** All groups; behind a group of basics that failed there is nothing to be tried. */
export async function runConformance(
  setup: ConformanceSetup,
  ended: (result: CaseResult) => void = () => undefined,
): Promise<CaseResult[]> {
  const all: CaseResult[] = [];
  for (const group of CONFORMANCE_GROUPS) {
    if (group === 'webhooks' && setup.webhooks === null) continue;
    all.push(...(await runConformanceGroup(group, setup, ended)));
    if (group === 'basics' && all.some(({ verdict }) => verdict === 'failed')) break;
  }
  return all;
}

const NO_MANIFEST: HostManifest = { protocol: 1, connectorId: '', version: '', capabilities: [] };

function casesOf(
  group: ConformanceGroup,
  setup: ConformanceSetup,
  manifest: HostManifest,
): ConformanceCase[] {
  switch (group) {
    case 'basics':
      return basicCases(setup.contracts);
    case 'tokens':
      return tokenCases();
    case 'capabilities':
      return capabilityCases(manifest.capabilities);
    case 'fences':
      return fenceCases();
    case 'recovery':
      return recoveryCases();
    case 'webhooks':
      return webhookCases(setup.webhooks);
    case 'lifecycle':
      return lifecycleCases(setup.lifecycle);
  }
}

function manifestCase(found: (manifest: HostManifest) => void): ConformanceCase {
  return {
    ...{ id: 'basics/manifest', group: 'basics' },
    rule: 'Calls: GET /v1/manifest answers the manifest of this connector and version',
    check: async (run: CaseRun) => {
      const { status, body } = await run.page('/v1/manifest');
      const parsed = HostManifestSchema.safeParse(jsonOf(body));
      if (status !== 200 || !parsed.success) {
        const [issue] = parsed.error?.issues ?? [];
        const where = issue === undefined ? '' : `: ${issue.path.join('.')} ${issue.message}`;
        return run.fail(`it is no manifest${where}`);
      }
      const { connectorId, version } = run.setup.subject;
      if (parsed.data.connectorId !== connectorId || parsed.data.version !== version) {
        run.fail(
          `it is that of ${parsed.data.connectorId} ${parsed.data.version}, not of ${connectorId} ${version}`,
        );
      }
      found(parsed.data);
    },
  };
}
