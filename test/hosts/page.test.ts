/**
 * docs/host-protocol.md and its folder: the examples are what the code makes, sends and takes, the schemas
 * what it reads with, the tables complete. `UPDATE_SNAPSHOT=1` writes examples and schemas anew.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020';
import type { ZodType } from 'zod';
import { HOST_REFUSALS } from '../../src/domain/host-protocol';
import { createHostClient } from '../../src/hosts/client';
import { openAnswer } from '../../src/hosts/protocol/answers';
import { sha256Hex } from '../../src/hosts/protocol/jws';
import { LIFECYCLE_AUDIENCE, verifyLifecycleCall } from '../../src/hosts/protocol/lifecycle-calls';
import { openRouteToken } from '../../src/hosts/protocol/route-tokens';
import {
  HostAnswerSchema,
  LifecycleClaimsSchema,
  LifecycleReply,
  RouteTokenSchema,
  TokenTrust,
} from '../../src/schemas/host-messages';
import { importSigningKey } from '../../src/signing/keys';
import { examplePage } from './support/example-page';
import {
  EXAMPLE_BODY,
  EXAMPLE_CLAIMS,
  EXAMPLE_HOST,
  EXAMPLE_ISSUER,
  EXAMPLE_JTI,
  EXAMPLE_NOW_S,
  WAYBILL_KEY,
  examples,
  type Examples,
} from './support/examples';
import { callTo } from './support/fixtures';
import { messageSchemas } from './support/message-schemas';

const DOCS = path.join(__dirname, '..', '..', 'docs');
const PAGE = path.join(DOCS, 'host-protocol.md');
const SECTION =
  /(?<=\n## Worked examples\n[\s\S]*?for tests in any language\.\n\n)[\s\S]*?(?=\n\n## )/;
const anew = process.env['UPDATE_SNAPSHOT'] === '1';

let made: Examples;
/** What is committed: an author has nothing else. */
let kept: Examples;
beforeAll(async () => {
  made = await examples();
  const file = path.join(DOCS, 'host-protocol', 'examples.json');
  if (anew) {
    writeFileSync(file, `${JSON.stringify(made, null, 2)}\n`);
    writeFileSync(
      PAGE,
      readFileSync(PAGE, 'utf8').replace(SECTION, () => examplePage(made)),
    );
  }
  kept = JSON.parse(readFileSync(file, 'utf8')) as Examples;
});

describe('the worked examples', () => {
  test('are, byte by byte, what the code makes', () => {
    expect(kept).toEqual(made);
  });

  test('stand on the page as they are in the file', () => {
    expect(SECTION.exec(readFileSync(PAGE, 'utf8'))?.[0]).toBe(examplePage(made));
  });

  test('the request is what Waybill sends', async () => {
    expect(await sentBytes()).toBe(kept.http.execute);
  });

  test('the token verifies with the key that a host is told of', async () => {
    const trust = TokenTrust.parse(kept.trust);
    expect(await openRouteToken(kept.token.jws, trust)).toMatchObject(EXAMPLE_CLAIMS);
  });

  test("the answers verify with the host's DID, as answers to that token", async () => {
    for (const { jws, claims } of Object.values(kept.answers)) {
      const opened = await openAnswer(jws, {
        peerDid: kept.hostDid,
        jti: EXAMPLE_JTI,
        tenant: EXAMPLE_CLAIMS.tenant,
        action: EXAMPLE_CLAIMS.action,
        fence: EXAMPLE_CLAIMS.fence,
        tokenSha256: sha256Hex(kept.token.jws),
        bodySha256: sha256Hex(EXAMPLE_BODY),
      });
      expect(opened).toEqual({ kind: 'answer', claims });
    }
  });

  test.each(['register', 'heartbeat'] as const)(
    'the %s verifies, and its answer is one',
    async (operation) => {
      const { jws, reply } = kept.lifecycle[operation];
      const verified = await verifyLifecycleCall(jws, {
        ...{ replicaId: 'acme-tickets-1', operation, peerDid: kept.hostDid },
        ...{ audience: LIFECYCLE_AUDIENCE, nowMs: EXAMPLE_NOW_S * 1000 },
      });
      expect(verified.kind).toBe('verified');
      expect(LifecycleReply.parse(reply)).toEqual(reply);
    },
  );
});

describe('the JSON Schemas', () => {
  const schemas = [...messageSchemas()];
  const committed = (file: string) => {
    return JSON.parse(readFileSync(path.join(DOCS, 'host-protocol', file), 'utf8')) as object;
  };

  test.each(schemas)('%s is what Waybill reads with', (file, schema) => {
    const text = `${printable(JSON.stringify(schema, null, 2))}\n`;
    if (anew) writeFileSync(path.join(DOCS, 'host-protocol', file), text);
    expect(committed(file)).toEqual(JSON.parse(text));
  });

  test.each(schemas)('%s can be read by any engine of regular expressions', (file) => {
    const patterns = JSON.stringify(committed(file)).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g);
    for (const [, pattern = ''] of patterns) expect(JSON.parse(pattern)).not.toMatch(/\\|\(\?/);
  });

  test('accept the examples, and refuse what Waybill would not read', () => {
    const ajv = new Ajv2020({ allowUnionTypes: true, formats: { uuid: true } });
    const messages: [string, object][] = [
      ['route-token', kept.token.claims as object],
      ...Object.values(kept.answers).map(({ claims }): [string, object] => {
        return ['host-answer', claims as object];
      }),
      ...Object.values(kept.lifecycle).flatMap(({ claims, reply }): [string, object][] => [
        ['lifecycle-call', claims as object],
        ['lifecycle-reply', reply],
      ]),
    ];
    for (const [name, message] of messages) {
      const fits = ajv.compile(committed(`${name}.schema.json`));
      expect([name, fits(message), fits.errors]).toEqual([name, true, null]);
      for (const claim of Object.keys(message)) {
        for (const spoiled of [undefined, null, '', 'a\u0000', -1, 1.5, 2 ** 53, true, [], {}]) {
          const other = { ...message, [claim]: spoiled };
          expect([name, claim, spoiled, fits(other)]).toEqual([
            name,
            claim,
            spoiled,
            reads(name, other),
          ]);
        }
      }
    }
  });

  /** What Waybill itself says of it. */
  function reads(name: string, message: object): boolean {
    const readers: Record<string, ZodType> = {
      ...{ 'route-token': RouteTokenSchema, 'host-answer': HostAnswerSchema },
      ...{ 'lifecycle-call': LifecycleClaimsSchema, 'lifecycle-reply': LifecycleReply },
    };
    return readers[name]?.safeParse(message).success ?? false;
  }
});

test('every refusal and every claim has its row', () => {
  const page = readFileSync(PAGE, 'utf8');
  const rows = [...page.matchAll(/^\| *(`.*?) *\|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([a-z0-9_]+)`/g)].map(([, name = '']) => name),
  );
  const claims = [RouteTokenSchema, HostAnswerSchema, LifecycleClaimsSchema].flatMap((schema) =>
    Object.keys((schema as unknown as { shape: object }).shape),
  );
  const missing = [...HOST_REFUSALS, ...claims].filter((name) => !rows.includes(name));
  expect(missing).toEqual([]);
});

function printable(text: string): string {
  return text.replace(/[\u007f-\u009f]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}

/** What the client of Waybill puts on the wire for the example's call. */
async function sentBytes(): Promise<string> {
  let sent = '';
  const received = new Promise<void>((resolve) => {
    server.on('connection', (socket) => {
      socket
        .on('error', () => undefined)
        .on('data', (chunk) => {
          sent += chunk.toString('latin1');
          if (!sent.endsWith(EXAMPLE_BODY)) return;
          socket.destroy();
          resolve();
        });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const at = `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const client = createHostClient({
    ...{ issuer: EXAMPLE_ISSUER, key: await importSigningKey(JSON.stringify(WAYBILL_KEY)) },
    ...{ nowMs: () => EXAMPLE_NOW_S * 1000, newJti: () => EXAMPLE_JTI, connectionsPerHost: 1 },
  });
  await Promise.all([
    client.execute(exampleCall(`http://${at}`), Buffer.from(EXAMPLE_BODY)),
    received,
  ]);
  await client.close();
  await new Promise((resolve) => server.close(resolve));
  return sent.replace(at, EXAMPLE_HOST);
}
const server = createServer();

function exampleCall(url: string) {
  const claims = EXAMPLE_CLAIMS;
  return callTo(
    { url, did: made.hostDid, manifestDigest: claims.manifest_digest },
    {
      ...{ fence: claims.fence, incarnation: claims.incarnation },
      expiresAtMs: (EXAMPLE_NOW_S + 40) * 1000,
      route: {
        actionId: claims.action,
        ...{ catalogRevision: claims.catalog_revision, topology: claims.topology },
        bindingPolicyRevision: claims.binding_policy_revision,
      },
    },
  );
}
