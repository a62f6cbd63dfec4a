/**
 * Secrets in Vault (or OpenBao), versioned key-value engine: `vault:MOUNT/PATH#KEY` is that key of the
 * newest version. Nothing of what Vault answers reaches a message but what became of the request.
 */
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { parseVaultReference, type VaultReference } from '../domain/vault-references';
import { resolvedSecret, SecretError, type SecretProvider } from './provider';

export interface VaultSettings {
  /** Where Vault is, e.g. `https://vault.example:8200`. */
  readonly address: string;
  readonly namespace: string | null;
  /** PEM of those who vouch for its certificate; null: whom this machine trusts. */
  readonly caFile: string | null;
  /** Read for each request, so that a renewed one counts. Rejects where there is none. */
  readonly token: () => Promise<string>;
  /** From connecting to the last byte; 5 s unless told. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 2_000;
const CONNECTIONS = 16;
/** An entry of Vault may have 1 MiB; a value, as elsewhere, 64 KiB. */
const MAX_ANSWER_BYTES = 2_097_152;
const MAX_SECRET_BYTES = 65_536;

const Entry = z.object({
  data: z.object({
    /** Null: the newest version was deleted or destroyed. */
    data: z.record(z.string(), z.unknown()).nullable(),
    metadata: z.object({ version: z.int() }),
  }),
});

export function vaultSecrets(settings: VaultSettings): SecretProvider {
  let agent: Promise<Agent> | undefined;
  const connected = () => {
    agent ??= agentOf(settings);
    // A file that is put right counts at the next request.
    agent.catch(() => (agent = undefined));
    return agent;
  };
  return {
    async resolve(ref) {
      const at = parseVaultReference(ref);
      if (at === null) {
        throw new SecretError('malformed', 'a secret reference to Vault is vault:MOUNT/PATH#KEY');
      }
      const { status, text } = await ask(await connected(), settings, at).catch(
        (error: unknown) => {
          throw error instanceof SecretError ? error : unreadable(ref, 'Vault does not answer');
        },
      );
      return resolvedSecret(ref, valueOf(ref, at, { status, text }));
    },
  };
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function ask(
  dispatcher: Agent,
  { address, namespace, token, timeoutMs = TIMEOUT_MS }: VaultSettings,
  { mount, path }: VaultReference,
): Promise<Answer> {
  const url = [address.replace(/\/+$/, ''), 'v1', mount, 'data', ...path].join('/');
  const { statusCode, body } = await request(url, {
    dispatcher,
    headers: {
      'x-vault-token': await token(),
      'x-vault-request': 'true',
      ...(namespace === null ? {} : { 'x-vault-namespace': namespace }),
    },
    signal: AbortSignal.timeout(timeoutMs),
  });
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.byteLength;
    if (bytes > MAX_ANSWER_BYTES) throw new Error('too large');
    pieces.push(piece);
  }
  return { status: statusCode, text: Buffer.concat(pieces).toString('utf8') };
}

function valueOf(ref: string, { key }: VaultReference, { status, text }: Answer): string {
  if (status === 404) throw new SecretError('not_found', `secret ${ref} ${whyMissing(text)}`);
  if (status !== 200) throw unreadable(ref, refusedFor(status));
  const entry = entryOf(text);
  if (entry === null) throw unreadable(ref, 'its mount is no versioned key-value engine');
  const { data } = entry.data;
  if (data === null || !Object.hasOwn(data, key)) {
    throw new SecretError('not_found', `secret ${ref} has no such key`);
  }
  const value = data[key];
  if (typeof value !== 'string') throw unreadable(ref, 'the key holds no text');
  if (Buffer.byteLength(value) > MAX_SECRET_BYTES) throw unreadable(ref, 'it is too large');
  return value;
}

function entryOf(text: string): z.infer<typeof Entry> | null {
  try {
    return Entry.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** A version that was deleted is answered like one that never was, but with its metadata. */
function whyMissing(text: string): string {
  const entry = entryOf(text);
  return entry === null
    ? 'does not exist in Vault'
    : `was deleted: version ${entry.data.metadata.version} is the newest one`;
}

function refusedFor(status: number): string {
  if (status === 403) return 'Vault refuses it to this token';
  if (status === 503) return 'Vault is sealed, or away';
  if (status >= 300 && status < 400)
    return 'Vault points to another address, which is not followed';
  return `Vault answers ${status}`;
}

function unreadable(ref: string, why: string): SecretError {
  return new SecretError('unreadable', `secret ${ref} cannot be read: ${why}`);
}

async function agentOf({ caFile }: VaultSettings): Promise<Agent> {
  const ca = caFile === null ? null : await readFile(caFile).catch(noCertificates);
  return new Agent({
    connections: CONNECTIONS,
    connect: { timeout: CONNECT_TIMEOUT_MS, ...(ca === null ? {} : { ca }) },
  });
}

function noCertificates(): never {
  throw new SecretError('unreadable', 'the file of VAULT_CACERT cannot be read');
}
