/** A line to a TCP server that a test can cut: both ends lose it, and it cannot be dialled any more. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export class TcpLink {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(host: string, port: number) {
    this.#server = createServer((near) => {
      const far = connect(port, host);
      this.#join(near, far);
      this.#join(far, near);
    });
  }

  /** @param address `host:port` of the server */
  static async start(address: string): Promise<TcpLink> {
    const at = address.lastIndexOf(':');
    const link = new TcpLink(address.slice(0, at), Number(address.slice(at + 1)));
    await new Promise<void>((resolve) => link.#server.listen(0, '127.0.0.1', resolve));
    return link;
  }

  get address(): string {
    return `127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.pipe(to);
    from.on('error', () => undefined);
    from.once('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
