/**
 * Secrets in Vault over real sockets and TLS. Doubled: Vault itself, by a peer that answers as its
 * key-value engine does.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../src/schemas/config';
import { SecretReference } from '../../src/schemas/secret-references';
import { cachedSecrets } from '../../src/secrets/cache';
import { SecretError, type SecretProvider } from '../../src/secrets/provider';
import { referencedSecrets } from '../../src/secrets/references';
import { vaultSecrets } from '../../src/secrets/vault';
import { vaultSettings } from '../../src/workers/secrets';
import { makeCertificate } from '../support/certificate';
import { VaultPeer } from '../support/vault';

const REF = 'vault:kv/teams/hooks#github';
const PLACE = 'kv/teams/hooks';

let vault: VaultPeer;
let folder: string;
beforeEach(async () => {
  vault = await VaultPeer.start();
  folder = mkdtempSync(join(tmpdir(), 'waybill-vault-'));
});
afterEach(async () => {
  await vault.close();
  rmSync(folder, { recursive: true });
});

/** As a process has it, without the cache. */
function provider(more: Record<string, string> = {}): SecretProvider {
  const env = { VAULT_ADDR: vault.url, VAULT_TOKEN: vault.token, ...more };
  return referencedSecrets({ env: {}, vault: vaultSettings(parseConfig(env), env) });
}

const valueOf = async (ref = REF, from = provider()) => (await from.resolve(ref)).value.reveal();

async function fault(ref = REF, from = provider()): Promise<[string, string]> {
  const error = await from.resolve(ref).catch((thrown: unknown) => thrown);
  if (!(error instanceof SecretError)) throw new Error('expected a SecretError');
  expect(error.message).not.toMatch(/planted|hvs\./);
  return [error.fault, error.message];
}

it('reads the key of the newest version, with the token and in the namespace', async () => {
  vault.namespace = 'payments';
  vault.put(PLACE, { github: 'planted-1', other: 'x' });
  vault.put(PLACE, { github: 'planted-2', other: 'x' });
  expect(await valueOf(REF, provider({ VAULT_NAMESPACE: 'payments' }))).toBe('planted-2');
  expect(vault.requests).toMatchObject([
    { path: '/v1/kv/data/teams/hooks', headers: { 'x-vault-token': vault.token } },
  ]);
  expect(await fault()).toEqual([
    'unreadable',
    `secret ${REF} cannot be read: Vault refuses it to this token`,
  ]);
});

it('takes the token of a file that an agent renews', async () => {
  vault.put(PLACE, { github: 'planted' });
  const file = join(folder, 'token');
  const from = provider({ WAYBILL_VAULT_TOKEN_FILE: file });
  expect((await fault(REF, from))[0]).toBe('unreadable');
  writeFileSync(file, 'hvs.old\n');
  expect((await fault(REF, from))[0]).toBe('unreadable');
  writeFileSync(file, `${vault.token}\n`);
  expect(await valueOf(REF, from)).toBe('planted');
});

it('sees a rotation once its moment in the cache is over, without a restart', async () => {
  let nowMs = 0;
  const cached = cachedSecrets(provider(), { ttlMs: 5_000, nowMs: () => nowMs });
  vault.put(PLACE, { github: 'planted-1' });
  const { revision } = await cached.resolve(REF);
  vault.put(PLACE, { github: 'planted-2' });
  nowMs = 4_999;
  expect(await valueOf(REF, cached)).toBe('planted-1');
  nowMs = 5_000;
  expect(await valueOf(REF, cached)).toBe('planted-2');
  expect((await cached.resolve(REF)).revision).not.toBe(revision);
  expect(vault.requests).toHaveLength(2);
});

describe('what cannot be read is said of the reference, never of the value', () => {
  beforeEach(() => {
    vault.put(PLACE, { github: 'planted', number: 7, empty: '', large: 'planted'.repeat(10_000) });
  });
  const gone = (how: 'deleted' | 'destroyed') => () => {
    vault.remove(PLACE, how);
  };
  const answers = (status: number, body: string, location?: string) => () => {
    vault.instead = { status, body, ...(location === undefined ? {} : { location }) };
  };
  const seal = () => {
    vault.sealed = true;
  };
  interface Case {
    readonly ref?: string;
    readonly prepare?: () => void;
    readonly as: string;
    readonly words: RegExp;
  }
  const noEngine = /no versioned key-value engine$/;
  const CASES: readonly (readonly [string, Case])[] = [
    ['no such entry', { ref: 'vault:kv/none#k', as: 'not_found', words: /not exist in Vault$/ }],
    ['no such key', { ref: `vault:${PLACE}#none`, as: 'not_found', words: /has no such key$/ }],
    ['no own key', { ref: `vault:${PLACE}#toString`, as: 'not_found', words: /no such key$/ }],
    ['no text', { ref: `vault:${PLACE}#number`, as: 'unreadable', words: /holds no text$/ }],
    ['nothing', { ref: `vault:${PLACE}#empty`, as: 'empty', words: /is empty$/ }],
    ['too much', { ref: `vault:${PLACE}#large`, as: 'unreadable', words: /too large$/ }],
    [
      'a version that was deleted',
      { prepare: gone('deleted'), as: 'not_found', words: /deleted: version 1 is the newest one$/ },
    ],
    [
      'a version that was destroyed',
      { prepare: gone('destroyed'), as: 'not_found', words: /was deleted/ },
    ],
    ['a seal', { prepare: seal, as: 'unreadable', words: /is sealed, or away$/ }],
    [
      'a redirect',
      {
        prepare: answers(307, '', 'http://127.0.0.1:1/'),
        ...{ as: 'unreadable', words: /is not followed$/ },
      },
    ],
    [
      'another engine',
      {
        prepare: answers(200, '{"data":{"github":"planted"}}'),
        ...{ as: 'unreadable', words: noEngine },
      },
    ],
    ['no JSON', { prepare: answers(200, 'planted'), as: 'unreadable', words: noEngine }],
    [
      'an answer without an end',
      {
        prepare: answers(200, 'planted'.repeat(400_000)),
        ...{ as: 'unreadable', words: /Vault does not answer$/ },
      },
    ],
  ];
  it.each(CASES)('%s', async (_what, { ref = REF, prepare, as, words }) => {
    prepare?.();
    const [found, message] = await fault(ref);
    expect(found).toBe(as);
    expect(message).toMatch(words);
    expect(message).toContain(ref);
  });

  it('a Vault that is away, or silent', async () => {
    vault.silent = true;
    const silent = vaultSecrets({
      ...{ address: vault.url, namespace: null, caFile: null, timeoutMs: 100 },
      token: () => Promise.resolve(vault.token),
    });
    expect(await fault(REF, silent)).toEqual([
      'unreadable',
      `secret ${REF} cannot be read: Vault does not answer`,
    ]);
    const away = provider();
    await vault.close();
    expect((await fault(REF, away))[1]).toContain('Vault does not answer');
    vault = await VaultPeer.start();
  });

  it('no token', async () => {
    const env = { VAULT_ADDR: vault.url };
    const from = referencedSecrets({ env, vault: vaultSettings(parseConfig(env), env) });
    expect(await fault(REF, from)).toEqual([
      'not_configured',
      'Vault needs VAULT_TOKEN or WAYBILL_VAULT_TOKEN_FILE',
    ]);
  });
});

it('verifies the certificate, by its own authorities where they are named', async () => {
  const { certificate, privateKey } = makeCertificate(folder);
  const tls = await VaultPeer.start({
    cert: readFileSync(certificate),
    key: readFileSync(privateKey),
  });
  tls.put(PLACE, { github: 'planted' });
  const address = { VAULT_ADDR: `https://localhost:${tls.port}` };
  expect((await fault(REF, provider(address)))[1]).toContain('Vault does not answer');
  const late = provider({ ...address, VAULT_CACERT: join(folder, 'late') });
  expect((await fault(REF, late))[1]).toBe('the file of VAULT_CACERT cannot be read');
  writeFileSync(join(folder, 'late'), readFileSync(certificate));
  expect(await valueOf(REF, late)).toBe('planted');
  await tls.close();
});

it.each([
  'vault:kv#key',
  'vault:kv/#key',
  'vault:kv/a',
  'vault:kv/a#',
  'vault:kv/a#b#c',
  'vault:/kv/a#b',
  'vault:kv//a#b',
  'vault:kv/../sys/raw#b',
  'vault:kv/./a#b',
  'vault:kv/a?version=1#b',
  'vault:kv/a%2f..#b',
  'vault:kv/a b#c',
  `vault:kv/${'a/'.repeat(40)}a#b`,
])('%s is no reference, to a fleet file neither', async (ref) => {
  expect(await fault(ref)).toEqual([
    'malformed',
    'a secret reference to Vault is vault:MOUNT/PATH#KEY',
  ]);
  expect(SecretReference.safeParse(ref).success).toBe(false);
  expect(vault.requests).toEqual([]);
});

it('settings name a Vault that tokens may travel to', () => {
  const problem = /VAULT_ADDR: must be https, but on loopback/;
  expect(() => parseConfig({ VAULT_ADDR: 'http://vault.example:8200' })).toThrow(problem);
  expect(() => parseConfig({ VAULT_ADDR: 'vault:8200' })).toThrow(/VAULT_ADDR/);
  expect(parseConfig({ VAULT_ADDR: 'https://vault.example:8200' }).vault.address).toBeTruthy();
  expect(SecretReference.safeParse(REF).success).toBe(true);
});
