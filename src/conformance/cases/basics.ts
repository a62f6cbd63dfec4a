/** Who it is and how it answers; where one of these fails, the other groups say nothing. */
import { canonicalJson } from '../../schemas/canonical-json';
import { HostHealth, HostReadiness } from '../../schemas/host-messages';
import { JsonSchema } from '../../schemas/fleet/json-schemas';
import { jsonOf } from '../../schemas/json-bytes';
import { sha256Hex } from '../../hosts/protocol/jws';
import { expectKind } from '../expectations';
import type { CaseRun, ConformanceCase } from '../run';
import type { CatalogContract, ConformanceSetup } from '../subject';

const group = 'basics';

/** The manifest itself is read before any case; see `manifestCase`. */
export function basicCases(contracts: ConformanceSetup['contracts']): ConformanceCase[] {
  return [
    {
      ...{ id: 'basics/manifest-digest', group, check: manifestDigest },
      rule: 'Calls: the SHA-256 of the manifest, byte by byte, is the manifest digest',
    },
    {
      ...{ id: 'basics/manifest-schemas', group, check: manifestSchemas },
      rule: 'Calls: a manifest lists each capability with its JSON Schemas',
    },
    ...(contracts === null
      ? []
      : [
          {
            ...({ id: 'basics/contracts', group } as const),
            rule: 'Calls: the manifest says of each capability what the catalog says',
            check: (run: CaseRun) => sameContracts(run, contracts),
          },
        ]),
    {
      ...{ id: 'basics/health', group, check: health },
      rule: 'Calls: GET /health answers {"status":"alive"}',
    },
    {
      ...{ id: 'basics/ready', group, check: ready },
      rule: 'Calls: GET /ready answers 200 with {"ready":true} once it is registered',
    },
    {
      ...{ id: 'basics/signed-answer', group, check: signedAnswer },
      rule: "Answers: an answer is signed with the host's key and refers to the token and the body",
    },
    {
      ...{ id: 'basics/store-epoch', group, check: storeEpoch },
      rule: 'Answers: store_epoch is the identity of the memory that it registered with',
    },
  ];
}

async function manifestDigest(run: CaseRun): Promise<void> {
  const { body } = await run.page('/v1/manifest');
  const digest = sha256Hex(body);
  const { manifestDigest: expected } = run.setup.subject;
  if (digest !== expected) run.fail(`its digest is ${digest}, and ${expected} is published`);
}

async function manifestSchemas(run: CaseRun): Promise<void> {
  await run.page('/v1/manifest');
  const { capabilities } = run.manifest;
  if (capabilities.length === 0) run.fail('it offers no capability');
  for (const { capabilityId, requestSchema, resultSchema } of capabilities) {
    for (const [name, schema] of Object.entries({ requestSchema, resultSchema })) {
      const [issue] = JsonSchema.safeParse(schema).error?.issues ?? [];
      if (issue !== undefined) run.fail(`${name} of ${capabilityId} ${issue.message}`);
    }
  }
}

async function sameContracts(run: CaseRun, contracts: readonly CatalogContract[]): Promise<void> {
  await run.page('/v1/manifest');
  const published = new Map(contracts.map((one) => [one.capabilityId, one]));
  for (const offered of run.manifest.capabilities) {
    const expected = published.get(offered.capabilityId);
    if (expected === undefined) continue;
    for (const [field, value] of Object.entries(expected)) {
      const said = new Map<string, unknown>(Object.entries(offered)).get(field);
      if (canonicalJson(said) === canonicalJson(value)) continue;
      run.fail(`${field} of ${offered.capabilityId} is published as ${canonicalJson(value)}`);
    }
    published.delete(offered.capabilityId);
  }
  const [missing] = published.keys();
  if (missing !== undefined) run.fail(`it does not offer ${missing}, which its version does`);
}

async function health(run: CaseRun): Promise<void> {
  const { status, body } = await run.page('/health');
  if (status !== 200 || !HostHealth.safeParse(jsonOf(body)).success) run.fail('it is not alive');
}

async function ready(run: CaseRun): Promise<void> {
  const { status, body } = await run.page('/ready');
  const said = HostReadiness.safeParse(jsonOf(body)).data;
  if (status !== 200 || said?.ready !== true) run.fail('it is not ready');
}

async function signedAnswer(run: CaseRun): Promise<void> {
  const reply = await run.call({ purpose: 'read', action: run.newAction() });
  expectKind(run, reply, ['not_started']);
}

async function storeEpoch(run: CaseRun): Promise<void> {
  const reply = await run.call({ purpose: 'read', action: run.newAction() });
  expectKind(run, reply, ['not_started']);
  const { storeEpoch: expected } = run.setup.subject;
  if (reply.kind === 'signed' && reply.claims.store_epoch !== expected) {
    run.fail(`it names the store ${reply.claims.store_epoch}, and registered with ${expected}`);
  }
}
