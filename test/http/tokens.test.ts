/**
 * Which tokens of an identity provider count. Real: jose, a key set served over HTTP on loopback.
 */
import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose';
import { WaybillError } from '../../src/domain/errors';
import type { TokenVerifier } from '../../src/http/tokens';
import { jwksTokens } from '../../src/http/tokens/jwks';
import { until } from '../support/until';
import { READ } from './harness';

const ISSUER = 'https://id.example.test/';
const AUDIENCE = 'waybill';

interface Pair {
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

describe('a token of an identity provider', () => {
  let pair: Pair;
  let stranger: Pair;
  let provider: Server;
  let served: object[];
  let fetches = 0;
  let tokens: TokenVerifier;
  beforeAll(async () => {
    pair = await generateKeyPair('ES256', { extractable: true });
    stranger = await generateKeyPair('ES256', { extractable: true });
    const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k1', alg: 'ES256' };
    served = [jwk];
    provider = createServer((_request, response) => {
      fetches += 1;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ keys: served }));
    });
    await new Promise<void>((done) => provider.listen(0, '127.0.0.1', done));
    tokens = jwksTokens({
      jwksUrl: urlOf(provider),
      issuer: ISSUER,
      audience: AUDIENCE,
      nowMs: Date.now,
    });
  });
  afterAll(() => new Promise((done) => provider.close(done)));

  interface Changes {
    readonly claims?: Readonly<Record<string, unknown>>;
    readonly issuer?: string;
    readonly audience?: string | string[];
    readonly expiresInS?: number | null;
    readonly notBeforeInS?: number;
    readonly key?: CryptoKey;
    readonly kid?: string;
  }
  const token = (changes: Changes = {}) => {
    const nowS = Math.floor(Date.now() / 1000);
    const claims = { sub: 'ada', tenant: 'acme', scope: READ, ...changes.claims };
    const jwt = new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: changes.kid ?? 'k1' })
      .setIssuer(changes.issuer ?? ISSUER)
      .setAudience(changes.audience ?? AUDIENCE)
      .setIssuedAt(nowS);
    if (changes.expiresInS !== null) jwt.setExpirationTime(nowS + (changes.expiresInS ?? 600));
    if (changes.notBeforeInS !== undefined) jwt.setNotBefore(nowS + changes.notBeforeInS);
    return jwt.sign(changes.key ?? pair.privateKey);
  };
  const codeOf = (authorization: string | undefined) => refusal(tokens, authorization);

  it('names its tenant, its subject and its scopes', async () => {
    const principal = await tokens.verify(`Bearer ${await token({ claims: { scope: 'a  b' } })}`);
    expect(principal).toEqual({
      ...{ tenantId: 'acme', subject: 'ada', scopes: new Set(['a', 'b']) },
      limits: { capabilities: null, maxSideEffect: null },
    });
  });

  it('holds no scope when it names none', async () => {
    const bare = await token({ claims: { scope: undefined } });
    expect((await tokens.verify(`bearer ${bare}`)).scopes.size).toBe(0);
  });

  it('counts for half a minute more than its times say, and no longer', async () => {
    await tokens.verify(`Bearer ${await token({ expiresInS: -20 })}`);
    await tokens.verify(`Bearer ${await token({ notBeforeInS: 20 })}`);
    expect(await codeOf(`Bearer ${await token({ expiresInS: -60 })}`)).toBe('unauthenticated');
    expect(await codeOf(`Bearer ${await token({ notBeforeInS: 60 })}`)).toBe('unauthenticated');
  });

  it('is judged by the time that is told, whatever the clock of this process says', async () => {
    const byThen = jwksTokens({
      ...{ jwksUrl: urlOf(provider), issuer: ISSUER, audience: AUDIENCE },
      nowMs: () => Date.now() + 3_600_000,
    });
    expect(await refusal(byThen, `Bearer ${await token()}`)).toBe('unauthenticated');
    await byThen.verify(`Bearer ${await token({ expiresInS: 3_650, notBeforeInS: 3_550 })}`);
  });

  it('is judged by keys whose age does not depend on the clock of this process', async () => {
    const real = Date.now;
    const clock = jest.spyOn(Date, 'now');
    const jumping = jwksTokens({
      ...{ jwksUrl: urlOf(provider), issuer: ISSUER, audience: AUDIENCE, nowMs: real },
      cooldownMs: 50,
    });
    const good = `Bearer ${await token()}`;
    const before = served;
    try {
      const fetchedBefore = fetches;
      for (const aheadMs of [3_600_000, 0, 3_600_000]) {
        clock.mockImplementation(() => real() + aheadMs);
        await jumping.verify(good);
      }
      expect(fetches - fetchedBefore).toBe(1);
      // Seen from now on it was fetched an hour from now: a new key counts all the same.
      clock.mockRestore();
      const next = await generateKeyPair('ES256', { extractable: true });
      served = [{ ...(await exportJWK(next.publicKey)), kid: 'k8', alg: 'ES256' }];
      const fresh = `Bearer ${await token({ key: next.privateKey, kid: 'k8' })}`;
      await until('the new key counts', async () =>
        (await refusal(jumping, fresh)) === 'accepted' ? true : null,
      );
      expect(await refusal(jumping, good)).toBe('unauthenticated');
    } finally {
      clock.mockRestore();
      served = before;
    }
  });

  it.each<[string, Changes]>([
    ['another issuer', { issuer: 'https://elsewhere.example.test/' }],
    ['another audience', { audience: 'other' }],
    ['no expiry', { expiresInS: null }],
    ['no tenant', { claims: { tenant: undefined } }],
    ['a tenant that is no name', { claims: { tenant: '../acme' } }],
    ['a tenant that is no text', { claims: { tenant: ['acme'] } }],
    ['no subject', { claims: { sub: undefined } }],
    ['an empty subject', { claims: { sub: '' } }],
    ['a NUL in its subject', { claims: { sub: 'a\0' } }],
    ['scopes that are no text', { claims: { scope: [READ] } }],
    ['roles that are no list', { claims: { roles: 'Operator' } }],
    ['a capability that is no pattern', { claims: { capabilities: ['tickets.*.open'] } }],
    ['capabilities that are no list', { claims: { capabilities: 'tickets.*' } }],
    ['an unknown side-effect class', { claims: { max_side_effect: 'harmless' } }],
    ['an unknown key id', { kid: 'k2' }],
  ])('is refused with %s', async (_what, changes) => {
    expect(await codeOf(`Bearer ${await token(changes)}`)).toBe('unauthenticated');
  });

  it('counts when a key signed it that the provider has taken on since', async () => {
    const rotating = jwksTokens({
      ...{
        jwksUrl: urlOf(provider),
        issuer: ISSUER,
        audience: AUDIENCE,
        nowMs: Date.now,
        cooldownMs: 50,
      },
    });
    await rotating.verify(`Bearer ${await token()}`);
    const next = await generateKeyPair('ES256', { extractable: true });
    const before = served;
    served = [{ ...(await exportJWK(next.publicKey)), kid: 'k9', alg: 'ES256' }];
    const fresh = `Bearer ${await token({ key: next.privateKey, kid: 'k9' })}`;
    await until('the new key counts', async () =>
      (await refusal(rotating, fresh)) === 'accepted' ? true : null,
    );
    expect(await refusal(rotating, `Bearer ${await token()}`)).toBe('unauthenticated');
    served = before;
  });

  it('is refused with any unknown key id, and the provider is not asked again for each', async () => {
    await tokens.verify(`Bearer ${await token()}`);
    const before = fetches;
    for (let n = 0; n < 50; n += 1) {
      expect(await codeOf(`Bearer ${await token({ kid: `unknown-${n}` })}`)).toBe(
        'unauthenticated',
      );
    }
    expect(fetches - before).toBeLessThanOrEqual(1);
  });

  it('is for the audience also where it names several', async () => {
    await tokens.verify(`Bearer ${await token({ audience: ['other', AUDIENCE] })}`);
    expect(await codeOf(`Bearer ${await token({ audience: ['other', 'third'] })}`)).toBe(
      'unauthenticated',
    );
  });

  it('is refused when the key that it names is too weak to count', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const before = served;
    served = [...served, { ...publicKey.export({ format: 'jwk' }), kid: 'weak', alg: 'RS256' }];
    const fresh = jwksTokens({
      jwksUrl: urlOf(provider),
      issuer: ISSUER,
      audience: AUDIENCE,
      nowMs: Date.now,
    });
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${part({ alg: 'RS256', kid: 'weak' })}.${part({ sub: 'ada', tenant: 'acme' })}`;
    const signature = sign('sha256', Buffer.from(signed), privateKey).toString('base64url');
    expect(await refusal(fresh, `Bearer ${signed}.${signature}`)).toBe('unauthenticated');
    served = before;
  });

  it('is refused when another key signed it', async () => {
    const forged = await token({ key: stranger.privateKey });
    expect(await codeOf(`Bearer ${forged}`)).toBe('unauthenticated');
  });

  it('is refused without a signature, or with one by a key that everybody knows', async () => {
    const [, payload = '', signature = ''] = (await token()).split('.');
    for (const alg of ['none', 'None', 'HS256']) {
      const header = Buffer.from(JSON.stringify({ alg, kid: 'k1' })).toString('base64url');
      for (const last of ['', signature]) {
        const unsigned = `${header}.${payload}.${last}`;
        expect(await codeOf(`Bearer ${unsigned}`)).toBe('unauthenticated');
      }
    }
    const publicText = JSON.stringify(await exportJWK(pair.publicKey));
    const symmetric = await new SignJWT({ sub: 'ada', tenant: 'acme', scope: READ })
      .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setExpirationTime('10m')
      .sign(Buffer.from(publicText));
    expect(await codeOf(`Bearer ${symmetric}`)).toBe('unauthenticated');
  });

  it.each([undefined, '', 'Bearer', 'Bearer ', 'Bearer a.b.c', 'Bearer a b', 'Basic YTpi', 'ä'])(
    'is missing in the header %j',
    async (authorization) => {
      expect(await codeOf(authorization)).toBe('unauthenticated');
    },
  );

  it('is not judged at all while the keys cannot be fetched, and few ask for them', async () => {
    let asked = 0;
    const broken = createServer((_request, response) => {
      asked += 1;
      response.statusCode = 500;
      response.end('no keys today');
    });
    await new Promise<void>((done) => broken.listen(0, '127.0.0.1', done));
    const url = urlOf(broken);
    const unfetched = jwksTokens({
      jwksUrl: url,
      issuer: ISSUER,
      audience: AUDIENCE,
      nowMs: Date.now,
    });
    const good = `Bearer ${await token()}`;
    const startedMs = performance.now();
    for (let n = 0; n < 50; n += 1) {
      expect(await refusal(unfetched, good)).toBe('token_keys_unavailable');
    }
    expect(asked).toBeLessThanOrEqual(1 + (performance.now() - startedMs) / 1000);
    await new Promise((done) => broken.close(done));
    expect(await refusal(unfetched, good)).toBe('token_keys_unavailable');
  });
});

async function refusal(tokens: TokenVerifier, authorization: string | undefined): Promise<string> {
  try {
    await tokens.verify(authorization);
  } catch (error) {
    if (error instanceof WaybillError) return error.code;
    throw error;
  }
  return 'accepted';
}

function urlOf(server: Server): URL {
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`);
}
