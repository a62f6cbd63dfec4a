/**
 * The suite over hosts that are each broken in one way: the group of it that asks for this finds that and
 * nothing else, and names the rule, what was sent and what came back. The hosts are one honest one with
 * fronts that spoil one thing each (`support/flawed-host`); sockets and signatures are real.
 */
import { runConformanceGroup } from '../../src/conformance/suite';
import { CONFORMANCE_GROUPS, type CaseResult } from '../../src/domain/conformance';
import type { RouteToken } from '../../src/domain/host-protocol';
import type { Host } from '../../src/hosts/kit/host';
import { memoryStore } from '../../src/hosts/kit/stores/memory';
import { INCARNATION, IDENTITY, ISSUER, newKey } from '../hosts/support/fixtures';
import { FlawedHost, type Asked, type Flaw, type FlawedCall } from './support/flawed-host';
import { CASES, notesHost, setupFor, type SandboxKeys } from './support/sandbox';

let keys: SandboxKeys;
let inner: Awaited<ReturnType<typeof newKey>>;

beforeAll(async () => {
  keys = { host: await newKey(), waybill: await newKey(), stranger: await newKey() };
  inner = await newKey();
});

/** The honest host is told what it would have to hear to agree, where this holds. */
function overlooks(
  when: (token: RouteToken, call: FlawedCall) => boolean,
  asked: Asked | ((call: FlawedCall) => Asked) = {},
): Flaw {
  return {
    launder: (call) => {
      const { token, believed, typ } = call;
      const sound = token !== null && believed && typ === 'waybill-route';
      if (!sound || call.purpose !== 'execute' || !when(token, call)) return null;
      return typeof asked === 'function' ? asked(call) : asked;
    },
  };
}

/** Of a coordinate: whatever the token says of it. */
function ignores(claim: keyof RouteToken, own: string | number | null): Flaw {
  return overlooks((token) => token[claim] !== own, { claims: { [claim]: own } });
}

const FLAWS: Readonly<Record<string, Flaw>> = {
  'basics/manifest': { page: (path, text) => (path === '/v1/manifest' ? '{}' : text) },
  'basics/manifest-digest': {
    page: (path, text) => (path === '/v1/manifest' ? `${text}\n` : text),
  },
  'basics/health': { page: (path, text) => (path === '/health' ? '{"status":"well"}' : text) },
  'basics/ready': {
    page: (path, text) => (path === '/ready' ? '{"ready":false,"reason":"tired"}' : text),
  },
  'basics/signed-answer': { key: ({ stranger }) => stranger },
  'tokens/missing': { launder: ({ token }) => (token === null ? {} : null) },
  'tokens/other-key': {
    launder: ({ token, believed }) =>
      token !== null && !believed && token.iss === ISSUER && !('padding' in token) ? {} : null,
  },
  'tokens/other-issuer': overlooks(({ iss }) => iss !== ISSUER),
  'tokens/other-kind': {
    launder: ({ token, typ }) => (token !== null && typ !== 'waybill-route' ? {} : null),
  },
  'tokens/audience': overlooks(
    ({ aud }) => aud === 'did:key:z6MkiaMbhXHNA4eJVCCj8dbzKzTgYDKf6crKgHVHid1F1WCT',
  ),
  'tokens/expired': overlooks(({ exp }) => exp * 1000 < Date.now()),
  'tokens/body': overlooks(({ body_sha256: digest }) => /^0+$/.test(digest)),
  'tokens/purpose': overlooks(({ purpose }) => purpose === 'read'),
  'tokens/path': overlooks(({ action }, call) => action !== call.action),
  'tokens/store-lost': overlooks(({ store_epoch: epoch }) => epoch !== null, {
    claims: { store_epoch: null },
  }),
  'tokens/credential': ignores('credential_revision', '7'),
  'tokens/capability': overlooks(({ capability }) => capability === 'conformance.unknown', {
    claims: { capability: 'notes.create' },
  }),
  'tokens/tenant': ignores('tenant', IDENTITY.tenantId),
  'tokens/instance': ignores('instance', IDENTITY.instanceId),
  'tokens/manifest-digest': overlooks(({ manifest_digest: digest }) => /^f+$/.test(digest)),
  'tokens/incarnation': ignores('incarnation', INCARNATION),
  'tokens/oversize-body': overlooks(
    (_token, { body }) => body.length > 1_048_576,
    ({ body }) => ({ body: body.trim() }),
  ),
  'tokens/oversize-token': overlooks((token) => 'padding' in token, {
    claims: { padding: undefined } as Partial<RouteToken>,
  }),
  'tokens/replayed': {
    launder: ({ token, purpose }) =>
      token !== null && purpose === 'execute' && again(token.jti) ? {} : null,
  },
  'capabilities/valid/notes.create': {
    after: ({ token }, verdict) =>
      token?.capability === 'notes.create' && verdict.kind === 'succeeded'
        ? { ...verdict, result: { note: verdict.result } }
        : verdict,
  },
  'capabilities/invalid/notes.read': {
    answer: ({ purpose, token, body }) =>
      purpose === 'execute' && token?.capability === 'notes.read' && !/"text"/.test(body)
        ? { kind: 'succeeded', result: { noteId: 'N-0' } }
        : undefined,
  },
  'fences/other-body': overlooks(
    (_token, { body }) => body.endsWith(' ') && body.length < 1_000,
    ({ body }) => ({ body: body.trim() }),
  ),
  'fences/tombstone': {
    answer: async (call, host) => {
      if (call.purpose !== 'cancel') return undefined;
      const { outcome } = await host.ask(call, { purpose: 'read' });
      return outcome.kind === 'not_started' ? { kind: 'cancelled' } : undefined;
    },
  },
  'fences/seal': {
    answer: async (call, host) => {
      if (call.purpose !== 'reconcile' || call.body !== '') return undefined;
      const { outcome } = await host.ask(call, { purpose: 'read' });
      return outcome.kind === 'not_started' ? outcome : undefined;
    },
  },
  'fences/read': {
    answer: async (call, host) => {
      if (call.purpose !== 'read') return undefined;
      const { outcome } = await host.ask(call, { purpose: 'read' });
      if (outcome.kind !== 'not_started') return outcome;
      return (await host.ask(call, { purpose: 'reconcile', body: '' })).outcome;
    },
  },
  'fences/cancel-running': {
    answer: async (call, host) => {
      if (call.purpose !== 'cancel') return undefined;
      const { outcome } = await host.ask(call, { purpose: 'read' });
      return outcome.kind === 'running' ? { kind: 'cancelled' } : undefined;
    },
  },
  'fences/other-capability': {
    launder: ({ purpose, token, body, action }) => {
      if (purpose !== 'execute' || token === null || action !== token.action) return null;
      const first = firstOf(action, { capability: token.capability, body });
      return first.capability === token.capability ? null : { ...first, claims: first };
    },
  },
  'recovery/adopted': {
    answer: async (call, host) => {
      if (call.purpose !== 'reconcile' || call.body === '') return undefined;
      const { outcome } = await host.ask(call);
      return outcome.kind === 'unknown' ? { kind: 'not_started' } : outcome;
    },
  },
  'recovery/begin-anew': overlooks(({ begin_anew: anew }) => anew, {
    claims: { begin_anew: false },
  }),
};

const QUICK = { valid: [{ text: 'soon', durationMs: 0 }], invalid: [] };

const jtis = new Set<string>();
function again(jti: string): boolean {
  const known = jtis.has(jti);
  jtis.add(jti);
  return known;
}

interface First {
  readonly capability: string;
  readonly body: string;
}
const firsts = new Map<string, First>();
function firstOf(action: string, asked: First): First {
  const first = firsts.get(action) ?? asked;
  firsts.set(action, first);
  return first;
}

/** How many hosts are tried at once. */
const LANES = 6;
const found = new Map<string, readonly CaseResult[]>();

/** A front of its own before the one honest host, and the group that is to notice. */
async function tryFlaw(honest: Host, id: string, flaw: Flaw): Promise<void> {
  const host = await new FlawedHost(honest, flaw, { keys, inner }).start();
  const { did, manifestDigest, storeEpoch } = honest;
  // Waiting for slow work is for the one host that is broken there.
  const cases = id === 'fences/cancel-running' ? CASES : { ...CASES, 'notes.slow': QUICK };
  const setup = setupFor({ url: host.url, did, manifestDigest, storeEpoch }, keys, { cases });
  const group = CONFORMANCE_GROUPS.find((one) => id.startsWith(`${one}/`));
  if (group === undefined) throw new Error(`${id} is of no group`);
  try {
    found.set(id, await runConformanceGroup(group, setup));
  } finally {
    await host.stop();
  }
}

beforeAll(async () => {
  const honest = await notesHost(keys, { store: memoryStore(), alsoTrusted: [inner] });
  const waiting = Object.entries(FLAWS);
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await tryFlaw(honest, ...next);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  await honest.stop();
}, 60_000);

test.each(Object.keys(FLAWS))('a host that is broken in %s fails there alone', (id) => {
  const failed = (found.get(id) ?? []).filter(({ verdict }) => verdict === 'failed');
  expect(failed.map((one) => [one.id, one.why])).toEqual([[id, expect.any(String)]]);
  const [only] = failed;
  expect(only?.rule).toMatch(/^[A-Z][A-Za-z, -]+: ./);
  const last = only?.exchanges.at(-1);
  expect(last?.sent).toMatch(/^(GET|PUT|POST) \//);
  expect(last?.cameBack).toMatch(/./);
});
