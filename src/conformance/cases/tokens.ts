/** Tokens that permit nothing: each has its refusal, and nothing begins. */
import type { HostRefusal, RouteTokenClaims } from '../../domain/host-protocol';
import { REQUEST_LIMIT_BYTES, TOKEN_LIMIT_BYTES } from '../../hosts/protocol/limits';
import type { CallSpec } from '../calls';
import { carryOut, expectNothing, expectRefusal, probe } from '../expectations';
import { verdictText } from '../replies';
import type { CaseRun, PartialCall, ConformanceCase } from '../run';
import type { ConformanceSetup } from '../subject';

const group = 'tokens';

interface Spoilt {
  readonly name: string;
  readonly rule: string;
  readonly refusal: HostRefusal;
  /** What is special about the call, in words. */
  readonly with: string;
  readonly call: (setup: ConformanceSetup) => Partial<CallSpec>;
  /** Of a store that is gone nothing can be said. */
  readonly started?: true;
}

export function tokenCases(): ConformanceCase[] {
  return [
    ...[...SPOILT, ...coordinates()].map((one) => ({
      ...({ id: `tokens/${one.name}`, group, rule: one.rule } as const),
      check: (run: CaseRun) => refused(run, one),
    })),
    {
      ...{ id: 'tokens/replayed', group, check: replayed },
      rule: 'Route tokens: a jti is used once',
    },
    {
      ...{ id: 'tokens/oversize-body', group, check: oversizeBody },
      rule: 'Limits and time-outs: the body of an execute has at most 1 MiB',
    },
    {
      ...{ id: 'tokens/oversize-token', group, check: oversizeToken },
      rule: 'Limits and time-outs: a token has at most 12 KiB',
    },
  ];
}

const HOUR_S = 3_600;

const SPOILT: readonly Spoilt[] = [
  {
    ...{ name: 'missing', refusal: 'token_invalid', with: 'without a token' },
    rule: 'Refusals: without a token a call is token_invalid',
    call: () => ({ token: '' }),
  },
  {
    ...{
      name: 'other-key',
      refusal: 'token_invalid',
      with: 'signed by a key that it does not trust',
    },
    rule: 'Route tokens: the signature is by a key that the host got when it registered',
    call: ({ strangerKey }) => ({ key: strangerKey }),
  },
  {
    ...{ name: 'other-issuer', refusal: 'token_invalid', with: 'iss of another issuer' },
    rule: 'Route tokens: iss is the issuer given at registration',
    call: () => ({ frame: { iss: 'urn:waybill:somebody-else' } }),
  },
  {
    ...{ name: 'other-kind', refusal: 'token_invalid', with: 'typ of another kind of message' },
    rule: 'Route tokens: typ is waybill-route',
    call: () => ({ typ: 'waybill-host-lifecycle' }),
  },
  {
    ...{ name: 'audience', refusal: 'wrong_audience', with: 'aud of another host' },
    rule: "Route tokens: aud is the host's own DID",
    call: () => ({ frame: { aud: 'did:key:z6MkiaMbhXHNA4eJVCCj8dbzKzTgYDKf6crKgHVHid1F1WCT' } }),
  },
  {
    ...{ name: 'expired', refusal: 'token_expired', with: 'exp has passed' },
    rule: 'Route tokens: exp is the end of the life of a token, without tolerance',
    call: ({ nowMs }) => {
      const nowS = Math.floor(nowMs() / 1000);
      return { frame: { iat: nowS - HOUR_S, exp: nowS - 2 } };
    },
  },
  {
    ...{ name: 'body', refusal: 'wrong_body', with: 'body_sha256 of another body' },
    rule: 'Route tokens: body_sha256 is the SHA-256 of the body as received',
    call: () => ({ claims: { body_sha256: '0'.repeat(64) } }),
  },
  {
    ...{ name: 'purpose', refusal: 'wrong_coordinates', with: 'a token to read' },
    rule: 'Route tokens: purpose fits the call',
    call: () => ({ purpose: 'read', route: 'execute' }),
  },
  {
    ...{ name: 'path', refusal: 'wrong_coordinates', with: 'of another action than the path' },
    rule: "Route tokens: action is the path's",
    call: () => ({ claims: { action: 'conformance-another-action' } }),
  },
  {
    ...{
      name: 'store-lost',
      refusal: 'store_lost',
      with: 'store_epoch of another memory',
      started: true,
    },
    rule: 'Route tokens: store_epoch is null or the memory of the host itself, else store_lost',
    call: () => ({ claims: { store_epoch: 'a-memory-that-is-not-here' } }),
  },
  {
    ...{
      name: 'credential',
      refusal: 'credential_revoked',
      with: 'a credential that it must not use',
    },
    rule: 'Route tokens: an execute names a credential that the host may use',
    call: () => ({ claims: { credential_revision: 'conformance-unknown-credential' } }),
  },
  {
    ...{
      name: 'capability',
      refusal: 'unknown_capability',
      with: 'a capability that it does not offer',
    },
    rule: 'Route tokens: capability is one that the host offers',
    call: () => ({ claims: { capability: 'conformance.unknown' } }),
  },
];

/** One case for each coordinate that the host owns. */
function coordinates(): Spoilt[] {
  const other = 'conformance-another';
  const wrong: Readonly<Record<string, Partial<RouteTokenClaims>>> = {
    tenant: { tenant: other },
    connector: { connector: other },
    instance: { instance: other },
    version: { version: '0.0.0-conformance' },
    manifest_digest: { manifest_digest: 'f'.repeat(64) },
    replica: { replica: other },
  };
  const owned = Object.entries(wrong).map(([claim, claims]): Spoilt => {
    return {
      ...{
        name: claim.replace('_', '-'),
        refusal: 'wrong_coordinates',
        with: `${claim} of another`,
      },
      rule: `Route tokens: ${claim} is the host's own`,
      call: () => ({ claims }),
    };
  });
  return [
    ...owned,
    {
      ...{ name: 'incarnation', refusal: 'wrong_coordinates', with: 'the next incarnation' },
      rule: 'Route tokens: incarnation of an execute is the one of its registration',
      call: ({ subject }) => ({ claims: { incarnation: subject.incarnation + 1 } }),
    },
  ];
}

async function refused(run: CaseRun, spoilt: Spoilt): Promise<void> {
  const wanted = probe(run);
  const reply = await run.call({
    ...{ purpose: 'execute', with: spoilt.with, ...wanted, path: wanted.action },
    ...spoilt.call(run.setup),
  });
  expectRefusal(run, reply, {
    refusal: spoilt.refusal,
    started: spoilt.started === true,
  });
  await expectNothing(run, wanted.action, wanted.capability);
}

async function replayed(run: CaseRun): Promise<void> {
  const wanted = probe(run);
  const first: PartialCall = {
    ...{ purpose: 'execute', ...wanted, fence: run.nextFence(), frame: { jti: run.newJti() } },
  };
  const { token } = await run.send(first);
  const { reply } = await run.send({ ...first, token, with: 'the same token again' });
  expectRefusal(run, reply, { refusal: 'token_replayed' });
}

async function oversizeBody(run: CaseRun): Promise<void> {
  const wanted = probe(run);
  // JSON all the same: only its length is wrong.
  const body = wanted.body + ' '.repeat(REQUEST_LIMIT_BYTES + 1 - Buffer.byteLength(wanted.body));
  const reply = await run.call({
    ...{ purpose: 'execute', ...wanted, body, with: 'a body of 1 MiB and a byte' },
  });
  if (reply.kind === 'signed' && reply.verdict.kind !== 'refused') {
    run.fail(`it must not be carried out, and the answer is ${verdictText(reply.verdict)}`);
  }
  await expectNothing(run, wanted.action, wanted.capability);
}

async function oversizeToken(run: CaseRun): Promise<void> {
  const wanted = probe(run);
  const reply = await run.call({
    ...{ purpose: 'execute', ...wanted, with: 'a token of more than 12 KiB' },
    // In base64url a third longer.
    claims: { padding: 'x'.repeat((TOKEN_LIMIT_BYTES * 3) / 4) },
  });
  if (reply.kind === 'signed') expectRefusal(run, reply, { refusal: 'token_invalid' });
  await expectNothing(run, wanted.action, wanted.capability);
  // And it still serves.
  await carryOut(run, wanted);
}
