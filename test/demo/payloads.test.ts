/**
 * The story's payloads and how they are sent. Real: GitHub's published examples, and GitHub's own
 * library as the judge of the signature.
 */
import { execFileSync } from 'node:child_process';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { postWebhook } from '../../src/demo/github';
import { loadPayloads } from '../../src/demo/payloads';

test('the payloads are those events, and one is larger than 100 kB', async () => {
  const payloads = await loadPayloads();
  const events = Object.values(payloads).map(({ event }) => event);
  expect(new Set(events)).toEqual(new Set(['push', 'ping', 'issues', 'pull_request', 'release']));
  const action = (body: Buffer) =>
    (JSON.parse(body.toString('utf8')) as { action?: string }).action;
  expect(action(payloads.issuesOpened.body)).toBe('opened');
  expect(action(payloads.pullRequestOpened.body)).toBe('opened');
  expect(action(payloads.releasePublished.body)).toBe('published');
  expect(payloads.largePush.body.length).toBeGreaterThan(100_000);
  expect(payloads.largePush.title).toMatch(/^push of 250 commits, \d{3} kB$/);
});

test('without the package it is said how to install it', async () => {
  await expect(loadPayloads('@octokit/not-installed')).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/@octokit\/not-installed.*npm ci/) as string,
  });
});

test("what is sent bears the signature that GitHub's own library makes of these bytes", async () => {
  const { issuesOpened: payload } = await loadPayloads();
  const seen = await sentTo((url) =>
    postWebhook({ url, payload, guid: 'one', secret: 'a secret' }),
  );
  expect(seen.body).toBe(payload.body.toString('utf8'));
  expect(seen.headers).toMatchObject({
    'x-github-event': 'issues',
    'x-github-delivery': 'one',
    'x-hub-signature-256': octokitSignature('a secret', seen.body),
  });
});

/** What a server gets of one request that `send` makes to it. */
async function sentTo(
  send: (url: string) => Promise<unknown>,
): Promise<{ headers: IncomingHttpHeaders; body: string }> {
  const requests: { headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      requests.push({ headers: request.headers, body: body.toString('utf8') });
      response.writeHead(202, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ outcome: 'ignored' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await send(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  server.closeAllConnections();
  server.close();
  const [seen] = requests;
  if (seen === undefined || requests.length !== 1) throw new Error('not one request came');
  return seen;
}

/** In a process of its own: the library can be imported only, and jest cannot import. */
function octokitSignature(secret: string, body: string): string {
  const program = `
    import { sign } from '@octokit/webhooks-methods';
    const [secret, body] = process.argv.slice(-2);
    process.stdout.write(await sign(secret, body));`;
  const args = ['--input-type=module', '--eval', program, '--', secret, body];
  return execFileSync(process.execPath, args, { cwd: __dirname, encoding: 'utf8' });
}
