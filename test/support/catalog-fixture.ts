/**
 * A small catalog by plain SQL: one connector version, one instance, one target (over HTTP without another
 * word), one subscription with its ingress. Tests of publishing use the product's own `apply`; all others start
 * from here.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import type { Lane } from '../../src/domain/lanes';
import { DEFAULT_RETRY_PROFILE } from '../../src/domain/retry';
import type { RetryProfile } from '../../src/domain/retry';
import type { TestDatabase } from './test-database';

export interface CatalogFixture {
  readonly tenant: string;
  readonly subscription: string;
  readonly connector: string;
  readonly ingressRef: string;
  readonly lane: Lane;
}

export interface CatalogOptions {
  readonly tenant?: string;
  readonly subscription?: string;
  readonly targetUrl?: string;
  /** A target of another kind than HTTP, in place of what the other options say of it. */
  readonly target?: { readonly kind: 'event' | 'workflow'; readonly config: object };
  readonly timeoutMs?: number;
  /** Of its breaker; without it there is none, since tests of other things share their target. */
  readonly breakerFailures?: number;
  readonly retry?: RetryProfile;
  readonly lane?: Lane;
  /** Name of a shipped scheme. */
  readonly scheme?: string;
  readonly secrets?: readonly { readonly id: string; readonly ref: string }[];
  readonly targetSecretRefs?: readonly string[];
  readonly eventTypes?: readonly string[];
  readonly bodyLimitBytes?: number;
  readonly success?: { readonly pointer: string; readonly equals: unknown } | null;
}

/** Three quick attempts. */
export const QUICK_RETRY: RetryProfile = {
  ...DEFAULT_RETRY_PROFILE,
  attempts: 3,
  backoff: { kind: 'list', delaysMs: [30, 60] },
  jitter: 0,
};

export async function insertCatalog(
  db: Pick<TestDatabase, 'rows'>,
  options: CatalogOptions = {},
): Promise<CatalogFixture> {
  const tenant = options.tenant ?? 'acme';
  const subscription = options.subscription ?? 'pushes';
  const connector = options.scheme ?? 'github';
  const lane = options.lane ?? 'durable';
  const ingressRef = `${tenant}-${subscription}-ingress`;
  const retry = JSON.stringify(options.retry ?? QUICK_RETRY);
  await db.rows(`insert into waybill.settings (default_retry) values ($1) on conflict do nothing`, [
    retry,
  ]);
  await db.rows(
    `insert into waybill.connectors (connector_id, name, provider) values ($1, $1, $1)
      on conflict do nothing`,
    [connector],
  );
  await db.rows(
    `insert into waybill.connector_versions
      (connector_id, version, status, webhook_scheme, content_digest)
      values ($1, '1.0.0', 'active', $2, repeat('0', 64)) on conflict do nothing`,
    [connector, JSON.stringify(shippedScheme(connector))],
  );
  await db.rows(
    `insert into waybill.instances (tenant_id, instance_id, connector_id, version, status, grants)
      values ($1, 'main', $2, '1.0.0', 'enabled', '{source}') on conflict do nothing`,
    [tenant, connector],
  );
  await db.rows(
    `insert into waybill.targets (tenant_id, target_id, kind, config, breaker_failures)
      values ($1, $2, $3, $4, $5)`,
    [
      ...[tenant, `${subscription}-target`, options.target?.kind ?? 'http'],
      ...[JSON.stringify(options.target?.config ?? targetConfig(options))],
      options.breakerFailures ?? 0,
    ],
  );
  await db.rows(
    `insert into waybill.subscriptions
      (tenant_id, subscription_id, instance_id, target_id, event_types, state, retry_profile, lane)
      values ($1, $2, 'main', $3, $4, 'active', $5, $6)`,
    [...[tenant, subscription, `${subscription}-target`, options.eventTypes ?? ['*'], retry], lane],
  );
  await db.rows(
    `insert into waybill.ingresses
      (ingress_ref, tenant_id, subscription_id, secrets, body_limit_bytes)
      values ($1, $2, $3, $4, $5)`,
    [ingressRef, tenant, subscription, secretWindows(options), options.bodyLimitBytes ?? 1_000_000],
  );
  return { tenant, subscription, connector, ingressRef, lane };
}

export function shippedScheme(name: string): unknown {
  const file = path.join(__dirname, '..', '..', 'schemes', `${name}.yaml`);
  return parse(readFileSync(file, 'utf8'));
}

function targetConfig(options: CatalogOptions) {
  return {
    url: options.targetUrl ?? 'http://127.0.0.1:9/',
    timeoutMs: options.timeoutMs ?? 2_000,
    secretRefs: options.targetSecretRefs ?? [],
    success: options.success ?? null,
  };
}

function secretWindows(options: CatalogOptions): string {
  const secrets = options.secrets ?? [{ id: 'current', ref: 'env:TEST_INGRESS_SECRET' }];
  return JSON.stringify(secrets.map((secret) => ({ notBefore: null, notAfter: null, ...secret })));
}
