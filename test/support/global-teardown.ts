/** Drops the template and stops the servers that the set-up started. */
import { dropTemplate } from './template';

export default async function globalTeardown(): Promise<void> {
  const servers = globalThis.waybillTestServers;
  if (servers === undefined) return;
  const template = process.env['WAYBILL_TEST_TEMPLATE'];
  if (template !== undefined) await dropTemplate(servers.databaseUrl, template);
  await servers.stop();
}
