/**
 * Once a run: a Postgres and a Temporal server (those of the environment, or our own), a migrated
 * template database, and the build that real processes are started from.
 */
import { randomBytes } from 'node:crypto';
import { createTemplate } from './template';
import { startTestServers } from './servers';

declare global {
  var waybillTestServers: Awaited<ReturnType<typeof startTestServers>> | undefined;
}

export default async function globalSetup(): Promise<void> {
  const servers = await startTestServers();
  globalThis.waybillTestServers = servers;
  const template = `waybill_template_${randomBytes(4).toString('hex')}`;
  const fresh = await createTemplate(servers.databaseUrl, template);
  process.env['WAYBILL_TEST_DATABASE_URL'] = servers.databaseUrl;
  process.env['WAYBILL_TEST_TEMPLATE'] = template;
  process.env['WAYBILL_TEST_FRESH_STATE'] = JSON.stringify(fresh);
  process.env['WAYBILL_TEST_TEMPORAL_ADDRESS'] = servers.temporalAddress;
}
