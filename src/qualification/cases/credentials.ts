/** What nobody may do with what it was given: proved by trying. */
import type { Statement } from '../../db/database';
import { PROVIDER_DATABASE, MAIN_DATABASE, loginOf, poolOf } from '../site/databases';
import { LOGINS, type LoginName } from '../site/topology';
import type { CaseContext } from './context';

const HOST = 'host-acme-tickets-1';
const DATA_PLANE: readonly LoginName[] = [
  'gateway-1',
  'worker-1',
  'worker-1-operations',
  'lifecycle',
];

const LOOK: Statement = { name: 'look', text: 'select 1' };
const CATALOG_WRITE: Statement = {
  name: 'catalog_write',
  text: `update waybill.connector_versions set status = status`,
};

export async function observeCredentials(context: CaseContext): Promise<void> {
  context.observe('a host that publishes with what it was given', await publishAsHost(context));
  context.observe("logins that a host's secrets open", await openedByHostSecrets(context));
  let working = 0;
  let writes = 0;
  let crossed = 0;
  for (const name of DATA_PLANE) {
    const url = context.site.ground.databases.login(name);
    if (await succeeds(url, LOOK)) working += 1;
    if (await succeeds(url, CATALOG_WRITE)) writes += 1;
    if (await succeeds(withDatabase(url, PROVIDER_DATABASE), LOOK)) crossed += 1;
  }
  const provider = context.site.ground.databases.provider;
  if (await succeeds(withDatabase(provider, MAIN_DATABASE), LOOK)) crossed += 1;
  context.observe('data-plane logins that were tried', working);
  context.observe('catalog writes with data-plane logins', writes);
  context.observe('reads across the databases', crossed);
}

/** The code that `waybill apply` fails with in a host's own environment; `published` if it does not. */
async function publishAsHost({ site }: CaseContext): Promise<string> {
  const { workspace } = site.ground;
  const fleet = workspace.secret('commands', 'as-a-host.yaml', 'kind: Settings\n');
  const { code, stderr } = await site.command(['apply', '-f', fleet], site.node(HOST).plan.env);
  if (code === 0) return 'published';
  return /\(([a-z_]+)\)\s*$/.exec(stderr.trimEnd())?.[1] ?? stderr.trim().slice(-200);
}

/** Each secret of a host as the password of each login, the superuser included. */
async function openedByHostSecrets({ site }: CaseContext): Promise<number> {
  const { keys, databases } = site.ground;
  const { d } = JSON.parse(keys.hosts[HOST].text) as { readonly d: string };
  const secrets = [d, keys.providerTokens['acme-tickets'] ?? ''];
  const users = ['postgres', 'provider', ...(Object.keys(LOGINS) as LoginName[]).map(loginOf)];
  let opened = 0;
  for (const user of users) {
    for (const secret of secrets) {
      const url = new URL(databases.migrator);
      url.username = user;
      url.password = secret;
      if (await succeeds(url.toString(), LOOK)) opened += 1;
    }
  }
  return opened;
}

async function succeeds(url: string, statement: Statement): Promise<boolean> {
  const pool = poolOf(url, 'qualification-trial', 1);
  try {
    await pool.query(statement, []);
    return true;
  } catch {
    return false;
  } finally {
    await pool.close();
  }
}

function withDatabase(text: string, database: string): string {
  const url = new URL(text);
  url.pathname = `/${database}`;
  return url.toString();
}
