/** Which Postgres does not answer: a command's one line should say what to look at. */
import { WaybillError } from '../../domain/errors';
import type { DatabaseSetting } from '../../workers/databases';

/**
 * Runs the work; where Postgres cannot be reached, the failure names it.
 * @param setting the database that is meant
 */
export async function namingDatabase<Result>(
  { url, variable }: DatabaseSetting,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const away = error instanceof WaybillError && error.code === 'storage_unavailable';
    if (!away || url === null) throw error;
    const { host, pathname } = new URL(url);
    const detail = `Postgres at ${host}${pathname} does not answer; start it, or see ${variable}`;
    throw new WaybillError('storage_unavailable', detail, { cause: error });
  }
}
