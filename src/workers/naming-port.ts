/** A port that is taken: whoever starts the process should read which, and how to change it. */
import { WaybillError } from '../domain/errors';

export interface PortWish {
  readonly host: string;
  readonly port: number;
  /** The option or variable that changes it. */
  readonly setting: string;
}

/**
 * Runs the work that listens there.
 * @throws WaybillError `port_in_use`
 */
export async function namingPort<Result>(
  { host, port, setting }: PortWish,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    throw new WaybillError(
      'port_in_use',
      `port ${port} on ${host} is taken; set ${setting} to a free one`,
      { field: setting, cause: error },
    );
  }
}
