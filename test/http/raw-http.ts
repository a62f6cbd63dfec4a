/** HTTP by hand: what a well-behaved client would never send. */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Writes pieces to a socket and gives back all that came until the server closes the connection or
 * `enough` says so.
 */
export async function speak(
  port: number,
  pieces: readonly (string | Uint8Array)[],
  enough: (heard: string) => boolean,
): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let heard = '';
  const ended = new Promise<void>((done) => {
    socket.on('data', (data) => {
      heard += data.toString('latin1');
      if (enough(heard)) done();
    });
    socket.on('close', () => {
      done();
    });
    socket.on('error', () => undefined);
  });
  for (const piece of pieces) socket.write(piece);
  const late = new AbortController();
  await Promise.race([
    ended,
    delay(20_000, undefined, { signal: late.signal }).then(() => {
      throw new Error(`no answer within time; heard: ${heard}`);
    }),
  ]);
  late.abort();
  socket.destroy();
  return heard;
}
