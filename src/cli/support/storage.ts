/** Which Postgres does not answer: a command's one line should say what to look at. */
import { WaybillError } from '../../domain/errors';

/**
 * Runs the work; where Postgres cannot be reached, the failure names it.
 * @param url the database that is meant; null where nothing is configured
 * @param variable the setting that names it
 */
export async function namingDatabase<Result>(
  url: string | null,
  work: () => Promise<Result>,
  variable = 'DATABASE_URL',
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
