/**
 * What the API answers to tokens of the development key. Real: Postgres, the key, jose. It is asked through a
 * real socket.
 */
import { SignJWT } from 'jose';
import { developmentTokens, issueDevelopmentToken } from '../../src/http/tokens/development';
import { generateKeyText, importSigningKey } from '../../src/signing/keys';
import { Harness, problem, READ } from './harness';

describe('the API', () => {
  let h: Harness;
  beforeAll(async () => {
    h = await Harness.start();
  });
  afterAll(() => h.stop());

  it('asks for a token, and says when one was wrong', async () => {
    const without = await h.call('/factory/deliveries', { token: null });
    expect(problem(without)).toMatchObject({ status: 401, code: 'unauthenticated' });
    expect(without.headers.get('www-authenticate')).toBe('Bearer realm="waybill"');
    const wrong = await h.call('/factory/deliveries', { token: 'a.b.c' });
    expect(wrong.headers.get('www-authenticate')).toContain('error="invalid_token"');
    expect(problem(wrong).detail).not.toContain('a.b.c');
  });

  it('refuses an expired development token and one of another key', async () => {
    const other = await importSigningKey(await generateKeyText());
    const claims = {
      tenantId: 'acme',
      subject: 'ada',
      scopes: [READ],
      issuedAt: new Date(Date.now() - 3_600_000),
      lifetimeS: 60,
    };
    for (const [key, issuedAt] of [
      [h.key, claims.issuedAt],
      [other, new Date()],
    ] as const) {
      const token = await issueDevelopmentToken(key, { ...claims, issuedAt });
      expect((await h.call('/factory/deliveries', { token })).status).toBe(401);
    }
  });

  it('refuses a receipt as a token, although the same key signed it', async () => {
    const receipt = await new SignJWT({ tenant: 'acme', scope: READ, sub: 'ada' })
      .setProtectedHeader({ alg: 'EdDSA', kid: h.key.kid, typ: 'waybill-receipt' })
      .setIssuer('waybill')
      .setExpirationTime('10m')
      .sign(h.key.privateKey);
    const tokens = developmentTokens(h.key.publicJwk, Date.now);
    await expect(tokens.verify(`Bearer ${receipt}`)).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });

  it('reads no body before it knows who sends it', async () => {
    const answer = await h.call('/factory/deliveries/none/replay', {
      token: null,
      json: { reason: 'x'.repeat(200_000) },
    });
    expect(answer.status).toBe(401);
  });
});
