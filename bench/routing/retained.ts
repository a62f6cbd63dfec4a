/**
 * What a deployment has behind it: actions that are over, with their routes, attempts and bytes, and
 * counters that were used before. Without them every plan would be one for empty tables.
 */
import { sendActions, startActions } from './actions';
import { copyRows, type Copies } from './copies';
import { portHands, type Ask } from './hands';
import type { Shape, Site } from './shapes';

const FIRST: Ask = { tenantId: 't0', actionId: 'kept-0', capabilityId: 'c0', nth: 0 };

/** Lives through one action, and multiplies what it has left; `kept-0`, `kept-1`, … */
export async function retain(site: Site, count: number): Promise<void> {
  const { database, shape } = site;
  const { reserve, close } = portHands(site.as('waybill_data', 1));
  await startActions(site, [FIRST]);
  const held = await reserve(FIRST);
  if (typeof held === 'string') throw new Error(`the first reservation was refused: ${held}`);
  await sendActions(site, [held]);
  await close(held);
  const of = `generate_series(1, ${count - 1}) n`;
  const from = `x.action_id = 'kept-0'`;
  const ids = {
    tenant_id: `'t' || n % ${shape.tenants}`,
    action_id: `'kept-' || n`,
  };
  const requestDigest = `sha256(convert_to('request-' || n, 'UTF8'))`;
  const resultDigest = `sha256(convert_to('result-' || n, 'UTF8'))`;
  const replica = { replica_id: `'t' || n % ${shape.tenants} || '-r' || n % ${shape.replicas}` };
  const capability = { capability_id: `'c' || n % ${shape.capabilities}` };
  const ago = (instant: string): string => `x.${instant} - make_interval(secs => n % 2000000)`;
  const actions = {
    ...{ ...ids, ...capability, request_sha256: requestDigest, result_sha256: resultDigest },
    ...{ created_at: ago('created_at'), closed_at: ago('closed_at') },
  };
  const routes = { ...ids, ...capability, ...replica };
  const artifacts = [requestDigest, resultDigest].map((sha256) => ({
    ...{ table: 'artifacts', of, set: { tenant_id: ids.tenant_id, sha256 } },
  }));
  await copyRows(database.url, [
    { table: 'actions', of, from, set: actions },
    { table: 'routes', of, from, set: routes },
    { table: 'route_attempts', of, from, set: { ...ids, ...replica } },
    ...artifacts,
    ...usedCounters(shape),
  ]);
}

/** Each has been held and released once. */
function usedCounters({ tenants, capabilities, limits }: Shape): readonly Copies[] {
  const others = `generate_series(1, ${tenants - 1}) t`;
  const bindings = `(select t, c from generate_series(0, ${tenants - 1}) t,
    generate_series(0, ${capabilities - 1}) c where (t, c) <> (0, 0)) n`;
  const scopes = [
    { scope: 'binding', of: bindings, key: `'t' || t || '/main/c' || c` },
    { scope: 'instance', of: others, key: `'t' || t || '/main'` },
    { scope: 'tenant', of: others, key: `'t' || t` },
  ];
  return scopes
    .filter(({ scope }) => limits !== null && scope in limits)
    .map(({ scope, of, key }) => ({
      ...{ table: 'quota_counters', of, from: `scope = '${scope}'` },
      set: { scope_key: key, tenant_id: `'t' || t` },
    }));
}
