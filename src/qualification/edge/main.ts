/**
 * The program of the TLS edge: ends TLS before the gateways and passes each request to one that takes
 * connections. It never sends a request a second time that a gateway may have seen.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { request } from 'undici';
import { EdgeSettings, GATEWAY_HEADER } from './settings';

const settings = EdgeSettings.parse(JSON.parse(process.env['EDGE_SETTINGS'] ?? '{}'));
let turn = 0;
/** Headers that do not go on to the next one. */
const OF_ONE_CONNECTION = ['host', 'connection', 'transfer-encoding', 'content-length'];

const server = createServer(
  { key: readFileSync(settings.keyFile), cert: readFileSync(settings.certFile) },
  (incoming, response) => {
    void serve(incoming, response).catch((error: unknown) => {
      note(incoming, null, 502, String(error));
      if (!response.headersSent) response.writeHead(502);
      response.end();
    });
  },
);
server.listen(settings.port, '127.0.0.1');
process.once('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeAllConnections();
});

async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  if (incoming.url === '/ready') {
    response.end('ready');
    return;
  }
  const body = await buffer(incoming);
  for (const gateway of inTurn(incoming.headers[GATEWAY_HEADER])) {
    const answer = await passedTo(gateway.url, incoming, body);
    if (answer === null) continue;
    note(incoming, gateway.name, answer.statusCode, null);
    const contentType = answer.headers['content-type'];
    response.writeHead(answer.statusCode, {
      [GATEWAY_HEADER]: gateway.name,
      ...(typeof contentType === 'string' ? { 'content-type': contentType } : {}),
    });
    response.end(Buffer.from(await answer.body.arrayBuffer()));
    return;
  }
  note(incoming, null, 503, 'no gateway takes connections');
  response.writeHead(503, { 'content-type': 'application/json' });
  response.end('{"code":"no_gateway"}');
}

/** Null: it takes no connections, so it has seen nothing. */
async function passedTo(
  url: string,
  { url: path, method, headers }: IncomingMessage,
  body: Buffer,
) {
  const kept = Object.entries(headers).filter(([name]) => !OF_ONE_CONNECTION.includes(name));
  try {
    return await request(`${url}${path ?? '/'}`, {
      method: (method ?? 'GET') as 'GET',
      headers: Object.fromEntries(kept),
      body: body.length === 0 ? null : body,
    });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED') return null;
    throw error;
  }
}

/** The one that is asked for, then the others; without a wish they take turns. */
function inTurn(wish: string | string[] | undefined): EdgeSettings['gateways'] {
  const { gateways } = settings;
  const wished = gateways.findIndex(({ name }) => name === wish);
  const first = wished === -1 ? turn++ % gateways.length : wished;
  return [...gateways.slice(first), ...gateways.slice(0, first)];
}

function note(
  { method, url }: IncomingMessage,
  gateway: string | null,
  status: number,
  detail: string | null,
): void {
  const at = new Date().toISOString();
  process.stdout.write(`${JSON.stringify({ at, method, url, gateway, status, detail })}\n`);
}
