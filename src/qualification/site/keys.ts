/** Keys, certificates and passwords of one run: made for it, and gone with it. */
import { randomBytes } from 'node:crypto';
import type { JSONWebKeySet } from 'jose';
import { SignJWT } from 'jose';
import { generate } from 'selfsigned';
import { didOfKey } from '../../signing/did-key';
import {
  generateKeyText,
  importSigningKey,
  publicKeySet,
  signatureAlgorithm,
  type SigningKey,
} from '../../signing/keys';
import type { SecretValues } from '../evidence/secret-values';
import { HOSTS, LOGINS, TENANTS, type HostName, type LoginName, type Tenant } from './topology';

export interface KeyPair {
  readonly text: string;
  readonly key: SigningKey;
}

export interface SiteKeys {
  /** Signs receipts and route tokens. */
  readonly deployment: KeyPair;
  /** Signs what admits connector versions. */
  readonly release: KeyPair;
  readonly hosts: Readonly<Record<HostName, KeyPair & { readonly did: string }>>;
  /** Of the qualification client, one a tenant. */
  readonly clients: Readonly<Record<Tenant, KeyPair>>;
  /** What a gateway takes tokens by. */
  readonly clientKeys: JSONWebKeySet;
  readonly certificate: { readonly key: string; readonly cert: string };
  readonly passwords: Readonly<Record<LoginName | 'provider' | 'judge', string>>;
  /** What the vendor signs its webhooks with, and what Waybill signs those to the target with. */
  readonly vendorSecret: string;
  readonly targetSecret: string;
  /** Nobody's: answers that it has signed are not to be believed. */
  readonly foreign: KeyPair;
  /** Of the accounts at the provider, by instance. */
  readonly providerTokens: Readonly<Record<string, string>>;
}

export const TOKEN_ISSUER = 'urn:waybill:qualification';
export const TOKEN_AUDIENCE = 'urn:waybill:qualification:api';
const TOKEN_LIFETIME_S = 120;

export async function makeKeys(
  accounts: readonly string[],
  secrets: SecretValues,
): Promise<SiteKeys> {
  const clients = await pairs(TENANTS, secrets);
  const hosts = await pairs(
    HOSTS.map(({ name }) => name),
    secrets,
  );
  const random = () => secrets.note(randomBytes(24).toString('base64url'));
  const logins = [...Object.keys(LOGINS), 'provider', 'judge'] as (
    LoginName | 'provider' | 'judge'
  )[];
  return {
    deployment: await pair(secrets),
    release: await pair(secrets),
    foreign: await pair(secrets),
    vendorSecret: random(),
    targetSecret: secrets.note(`whsec_${randomBytes(32).toString('base64')}`),
    clients,
    clientKeys: publicKeySet(Object.values(clients).map(({ key }) => key)),
    hosts: mapped(hosts, (one) => ({ ...one, did: didOfKey(one.key.publicJwk.x) })),
    certificate: await certificate(secrets),
    passwords: record(logins, random),
    providerTokens: record(accounts, random),
  };
}

/** Whose token it is: what is asked for by the one is approved by the other. */
export type Person = 'client' | 'approver';

/** A token of the tenant, by the tenant's key and for a short while. */
export async function tenantToken(
  { clients }: SiteKeys,
  { tenant, person }: { readonly tenant: Tenant; readonly person: Person },
  scopes: readonly string[],
): Promise<string> {
  const { key } = clients[tenant];
  const nowS = Math.floor(Date.now() / 1000);
  return await new SignJWT({ tenant, scope: scopes.join(' ') })
    .setProtectedHeader({ alg: signatureAlgorithm, kid: key.kid, typ: 'JWT' })
    .setIssuer(TOKEN_ISSUER)
    .setAudience(TOKEN_AUDIENCE)
    .setSubject(`qualification-${person}-${tenant}`)
    .setIssuedAt(nowS)
    .setExpirationTime(nowS + TOKEN_LIFETIME_S)
    .sign(key.privateKey);
}

async function certificate(secrets: SecretValues): Promise<SiteKeys['certificate']> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notAfterDate: new Date(Date.now() + 86_400_000),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', digitalSignature: true, keyCertSign: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
    ],
  });
  for (const line of key.split('\n')) if (!line.startsWith('-----')) secrets.note(line);
  return { key, cert };
}

async function pair(secrets: SecretValues): Promise<KeyPair> {
  const text = await generateKeyText();
  const { d } = JSON.parse(text) as { readonly d: string };
  secrets.note(d);
  return { text, key: await importSigningKey(text) };
}

async function pairs<Name extends string>(
  names: readonly Name[],
  secrets: SecretValues,
): Promise<Record<Name, KeyPair>> {
  const made = await Promise.all(names.map(async (name) => [name, await pair(secrets)] as const));
  return Object.fromEntries(made) as Record<Name, KeyPair>;
}

function record<Name extends string, Value>(
  names: readonly Name[],
  make: (name: Name) => Value,
): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, Value>;
}

function mapped<Name extends string, From, To>(
  from: Readonly<Record<Name, From>>,
  change: (value: From) => To,
): Record<Name, To> {
  const entries = Object.entries<From>(from).map(([name, value]) => [name, change(value)]);
  return Object.fromEntries(entries) as Record<Name, To>;
}
