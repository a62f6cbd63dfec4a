/**
 * Calling an HTTP target over TLS, on real sockets. Doubled: the look-up of names, which are all on
 * loopback.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { httpTargets } from '../../src/targets/http-target';
import { makeCertificate } from '../support/certificate';

const folder = mkdtempSync(path.join(tmpdir(), 'waybill-tls-'));
const { certificate, privateKey } = makeCertificate(folder);
const pem = { cert: readFileSync(certificate), key: readFileSync(privateKey) };
let asked: string[] = [];
let reached: string[] = [];
const server = createServer(
  {
    ...pem,
    SNICallback: (name, done) => {
      asked.push(name);
      done(null);
    },
  },
  (request, response) => {
    reached.push(request.headers.host ?? '');
    response.end();
  },
);
let port: number;

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  ({ port } = server.address() as AddressInfo);
});
beforeEach(() => {
  asked = [];
  reached = [];
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

/** In a process of its own, which trusts the server's certificate: what is trusted is read at its start. */
async function trusting(name: string): Promise<unknown> {
  const program = `
    const { httpTargets } = require('./dist/targets/http-target');
    const targets = httpTargets({
      policy: async () => ({ http: false, ports: [], allow: ['127.0.0.1'] }),
      lookUp: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
    });
    const call = { url: process.argv[1], headers: {}, body: null, timeoutMs: 5_000, success: null };
    targets
      .call({ ...call, signal: new AbortController().signal })
      .then(({ answer }) => process.stdout.write(JSON.stringify(answer)))
      .then(() => targets.close());`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--eval', program, '--', `https://${name}:${String(port)}/hook`],
    {
      cwd: path.join(__dirname, '../..'),
      env: { ...process.env, NODE_EXTRA_CA_CERTS: certificate },
    },
  );
  return JSON.parse(stdout);
}

test('the name is asked for, not the address, and who is not trusted gets no request', async () => {
  const strict = httpTargets({
    policy: () => Promise.resolve({ http: false, ports: [], allow: ['127.0.0.1'] }),
    lookUp: (_host, _options, done) => {
      done(null, [{ address: '127.0.0.1', family: 4 }]);
    },
  });
  const report = await strict.call({
    ...{ url: `https://hooks.test:${String(port)}/hook`, headers: {}, body: Buffer.from('{}') },
    ...{ timeoutMs: 5_000, success: null, signal: new AbortController().signal },
  });
  await strict.close();
  expect(report.answer).toEqual({ kind: 'not_sent', reason: 'connection_failed' });
  expect([asked, reached]).toEqual([['hooks.test'], []]);
});

test('a certificate that is trusted counts for its own name alone', async () => {
  expect(await trusting('localhost')).toMatchObject({ kind: 'answered', status: 200 });
  expect([asked, reached]).toEqual([['localhost'], [`localhost:${String(port)}`]]);
  expect(await trusting('hooks.test')).toEqual({ kind: 'not_sent', reason: 'connection_failed' });
  expect([asked[1], reached.length]).toEqual(['hooks.test', 1]);
});
