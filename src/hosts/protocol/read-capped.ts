/** A whole body, or null when it is larger than `limitBytes`; the connection is then cut. */
export async function readCapped(
  body: AsyncIterable<unknown>,
  limitBytes: number,
): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop destroys the stream, and with it the connection.
    if (size > limitBytes) return null;
  }
  return Buffer.concat(chunks);
}
