import { createServer, type AddressInfo } from 'node:net';
import { WaybillError } from '../../domain/errors';

const LOOPBACK = '127.0.0.1';

/** A wish for one port: who wants it, and the setting (flag or variable) that changes it. */
export interface PortWish {
  readonly port: number;
  readonly wantedBy: string;
  readonly setting: string;
}

/** A port on loopback that is free now; the system hands it out to nobody else for a while. */
export async function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, LOOPBACK, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => {
        resolve(port);
      });
    });
  });
}

/** Throws `port_in_use`, naming port, purpose and setting, when the port cannot be listened on. */
export async function requireFreePort(wish: PortWish): Promise<void> {
  const reason = await listenProblem(wish.port);
  if (reason === undefined) return;
  throw new WaybillError(
    'port_in_use',
    `Port ${wish.port} on ${LOOPBACK}, wanted by ${wish.wantedBy}, ${reason}; ` +
      `free it or choose another one with ${wish.setting}.`,
  );
}

function listenProblem(port: number): Promise<string | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE';
      resolve(taken ? 'is in use' : `cannot be listened on (${error.code ?? error.message})`);
    });
    server.listen(port, LOOPBACK, () => {
      server.close(() => {
        resolve(undefined);
      });
    });
  });
}
