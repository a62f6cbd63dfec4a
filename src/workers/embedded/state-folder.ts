import { resolve } from 'node:path';

/**
 * The folder of everything that Waybill keeps on this machine: `WAYBILL_HOME`, else `.waybill`
 * below the working directory.
 */
export function stateFolder(env: NodeJS.ProcessEnv, workingDirectory: string): string {
  const home = env['WAYBILL_HOME'];
  return resolve(workingDirectory, home === undefined || home === '' ? '.waybill' : home);
}

/**
 * The whole environment of a server that we start. Ours is not handed on: it may hold secrets, and
 * variables such as `PGDATA` or `TEMPORAL_ADDRESS` would change what the server does.
 */
export function serverEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  const kept: Record<string, string> = { LC_ALL: 'C', TZ: 'UTC' };
  for (const name of ['PATH', 'HOME', 'TMPDIR']) {
    const value = env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}
