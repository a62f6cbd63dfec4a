/** Asserted: key files hold Ed25519 pairs whose id is their thumbprint; keys never show themselves. */
import { inspect } from 'node:util';
import { calculateJwkThumbprint, exportJWK } from 'jose';
import { generateKeyText, importSigningKey, publicKeySet } from '../../src/signing/keys';

type Jwk = Record<string, string>;
const parsed = (text: string) => JSON.parse(text) as Jwk;

it('a generated key is read back, named by its RFC 7638 thumbprint', async () => {
  const text = await generateKeyText();
  const key = await importSigningKey(text);
  expect(parsed(text)).toMatchObject({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', kid: key.kid });
  expect(key.kid).toBe(await calculateJwkThumbprint(parsed(text)));
});

it('the thumbprint is the one of RFC 8037, appendix A.3', async () => {
  const key = await importSigningKey(
    JSON.stringify({
      kty: 'OKP',
      crv: 'Ed25519',
      d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
      x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
    }),
  );
  expect(key.kid).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k');
});

it('the public set holds no private part, and a key shows none', async () => {
  const text = await generateKeyText();
  const key = await importSigningKey(text);
  const { d = '' } = parsed(text);
  const shown = [publicKeySet([key]), key].map((value) => inspect(value) + JSON.stringify(value));
  for (const output of shown) expect(output).not.toContain(d);
  expect(publicKeySet([key]).keys).toEqual([key.publicJwk]);
  await expect(exportJWK(key.privateKey)).rejects.toThrow();
});

it('refuses what is no such key, without quoting it', async () => {
  const one = parsed(await generateKeyText());
  const two = parsed(await generateKeyText());
  const texts = [
    'planted',
    '"planted"',
    JSON.stringify({ ...one, d: undefined, note: 'planted' }),
    JSON.stringify({ ...one, crv: 'X25519', note: 'planted' }),
    JSON.stringify({ ...one, kid: 'planted' }),
    JSON.stringify({ ...one, kid: undefined, x: two['x'], note: 'planted' }),
    JSON.stringify({ ...one, d: 'planted' }),
  ];
  for (const text of texts) {
    const error = await importSigningKey(text).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toMatch(/^Error: the (signing key|kid)/);
    expect(String(error)).not.toContain('planted');
  }
});
