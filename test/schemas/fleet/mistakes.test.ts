/**
 * What is wrong with a fleet file: real YAML texts, no database. Asserted are document, line, field and
 * remedy of each mistake.
 */
import { readFleet } from '../../../src/schemas/fleet';
import type { Fleet } from '../../../src/schemas/fleet';
import { FleetInvalid } from '../../../src/schemas/fleet/mistakes';
import { loadShippedSchemes } from '../../../src/schemas/shipped-schemes';

const schemes = loadShippedSchemes();
const read = (text: string): Fleet => readFleet(text, schemes);

/** `line document field: problem` of every mistake. */
function mistakesOf(text: string): string[] {
  return read(text).mistakes.map(
    ({ line, document, field, problem }) => `${line} ${document} ${field}: ${problem}`,
  );
}

const TARGET = 'kind: Target\ntenant: acme\nid: ci\n';
const SUBSCRIPTION = `kind: Subscription
tenant: acme
id: pushes
instance: main
target: ci
eventTypes: [push]
`;
const INGRESS = `${SUBSCRIPTION}ingress:
  ref: acme-pushes-1f
  secrets: [{ id: current, ref: env:SECRET }]
`;

describe('a mistake names document, line, field and remedy', () => {
  test.each([
    [
      'an unknown kind',
      'kind: Targets\nid: x\n',
      /^1 document 1 kind: must be one of Settings, Capability, Connector, Evidence, QuotaPolicy, Instance, Binding, Replica, Target, Subscription, EventSink$/,
    ],
    ['a document that is no map', 'a text\n', /^1 document 1 kind: must be one of Settings/],
    [
      'an unknown field',
      `${TARGET}http: { url: http://x.test/, timout: 3s }`,
      /^4 Target acme\/ci \(document 1\) http\.timout: there is no such field; known here: url, timeout, secretRefs, success$/,
    ],
    [
      'a missing field',
      'kind: Target\ntenant: acme\nhttp: { url: http://x.test/ }\n',
      /^1 Target acme\/\? \(document 1\) id: is missing; it must be a text$/,
    ],
    [
      'a version without quotes that YAML reads as a number',
      'kind: Instance\ntenant: acme\nid: main\nconnector: github\nversion: 1.0\ngrants: []\n',
      /^5 Instance acme\/main \(document 1\) version: must be a text: put the value in quotes$/,
    ],
    [
      'a value outside a list',
      `${SUBSCRIPTION}state: stopped\n`,
      /^7 Subscription acme\/pushes \(document 1\) state: must be one of active, paused, deactivated$/,
    ],
    [
      'no event type',
      SUBSCRIPTION.replace('[push]', '[]'),
      /^6 .* eventTypes: name at least one event type, or '\*' for every type$/,
    ],
    [
      'the star beside other types',
      SUBSCRIPTION.replace('[push]', "['*', push]"),
      /^6 .* eventTypes: '\*' already takes every type$/,
    ],
    [
      'a duration without a unit',
      `${TARGET}http:\n  url: http://x.test/\n  timeout: 10\n`,
      /^6 .* http\.timeout: must be a text/,
    ],
    [
      'a duration out of range',
      `${TARGET}http:\n  url: http://x.test/\n  timeout: 10m\n`,
      /^6 .* http\.timeout: must be at most 240s$/,
    ],
    [
      'an address of another protocol',
      `${TARGET}http: { url: "ftp://x.test/" }\n`,
      /^4 .* http\.url: write an http or https address$/,
    ],
    [
      'a password in an address',
      `${TARGET}http: { url: "http://me:pass@x.test/" }\n`,
      /^4 .* http\.url: must hold no user name or password/,
    ],
    [
      'a password behind a third slash',
      `${TARGET}http: { url: "https:///me:pass@x.test/" }\n`,
      /^4 .* http\.url: must hold no user name or password/,
    ],
    [
      'an empty password',
      `${TARGET}http: { url: "https://@x.test/" }\n`,
      /^4 .* http\.url: must hold no user name or password/,
    ],
    [
      'a short ingress reference',
      INGRESS.replace('acme-pushes-1f', 'short'),
      /^8 .* ingress\.ref: write at least 8 characters; better a long random text/,
    ],
    [
      'a reference with capitals',
      INGRESS.replace('acme-pushes-1f', 'Acme-Pushes-1F'),
      /^8 .* ingress\.ref: write 1 to 64 lower-case letters/,
    ],
    [
      'a body limit above the most',
      INGRESS.replace('  secrets', '  bodyLimit: 26MiB\n  secrets'),
      /^9 .* ingress\.bodyLimit: write a size such as 512KiB, 25MiB/,
    ],
    [
      'an ingress without secrets',
      INGRESS.replace(/\[\{.*\}\]/, '[]'),
      /^9 .* ingress\.secrets: name at least one secret/,
    ],
    [
      'two secrets of one id',
      INGRESS.replace(/\[(\{.*\})\]/, '[$1, $1]'),
      /^9 .* ingress\.secrets\[1\]\.id: another secret of this ingress has the same id$/,
    ],
    [
      'a secret that ends before it begins',
      INGRESS.replace(
        'env:SECRET',
        'env:SECRET, notBefore: 2026-02-01T00:00:00Z, notAfter: 2026-01-01T00:00:00Z',
      ),
      /^9 .* ingress\.secrets\[0\]\.notAfter: must be later than notBefore$/,
    ],
    [
      'half a reference to Vault',
      INGRESS.replace('env:SECRET', '"vault:kv/a"'),
      /ingress\.secrets\[0\]\.ref: write vault:MOUNT\/PATH#KEY/,
    ],
    [
      'a reference that names nothing',
      INGRESS.replace('env:SECRET', '"file: "'),
      /ingress\.secrets\[0\]\.ref: write a reference, env:NAME, file:PATH or vault:MOUNT\/PATH#KEY/,
    ],
    [
      'a reference to a folder',
      INGRESS.replace('env:SECRET', '"file:hooks/"'),
      /ingress\.secrets\[0\]\.ref: a path that ends in \/ names a folder/,
    ],
    [
      'a reference out of the folder of secrets',
      INGRESS.replace('env:SECRET', '"file:hooks/../../other"'),
      /ingress\.secrets\[0\]\.ref: a relative path must stay inside the folder/,
    ],
    [
      'a scheme that is not shipped',
      'kind: Connector\nid: x\nname: X\nprovider: x\nversion: 1.0.0\nwebhookScheme: githup\n',
      /^6 Connector x@1\.0\.0 \(document 1\) webhookScheme: there is no shipped scheme of that name; known: .*github/,
    ],
    [
      'a fault inside a written scheme',
      'kind: Connector\nid: x\nname: X\nprovider: x\nversion: 1.0.0\nwebhookScheme:\n  kind: hmac\n  hash: md5\n  key_encoding: utf8\n  message: "{body}"\n  signature: { location: header, name: S, format: raw, encoding: hex }\n',
      /^8 .* webhookScheme\.hash: must be one of sha1, sha256, sha384, sha512$/,
    ],
    [
      'a backoff that is neither a word nor a list',
      `${SUBSCRIPTION}retry: { attempts: 3, backoff: linear }\n`,
      /^7 .* retry\.backoff: must be exponential or a list$/,
    ],
    [
      'a delay of a list that is no duration',
      `${SUBSCRIPTION}retry: { attempts: 3, backoff: [1s, soon] }\n`,
      /^7 .* retry\.backoff\[1\]: write a duration such as/,
    ],
    [
      'a longest delay beside a list of delays',
      `${SUBSCRIPTION}retry: { attempts: 3, backoff: [1s, 5s], max: 3s }\n`,
      /^7 .* retry\.max: a list of delays takes no max$/,
    ],
  ])('%s', (_name, text, expected) => {
    expect(mistakesOf(text)).toEqual([expect.stringMatching(expected)]);
  });

  test('a secret that stands where its reference belongs is not repeated', () => {
    const planted = 'whsec_planted_secret_value';
    const fleet = read(INGRESS.replace('env:SECRET', planted));
    const text = new FleetInvalid(fleet.mistakes).message;
    expect(text).toContain('or vault:MOUNT/PATH#KEY, never the secret itself');
    expect(text).not.toContain(planted);
  });

  test('every mistake of the file is listed, each with its own line', () => {
    const text = [
      `${TARGET}http: { url: nowhere }`,
      SUBSCRIPTION.replace('[push]', '[]').replace('id: pushes', 'id: Pushes'),
      'kind: Settings\nreplayWindowMinutes: 0\nfailedWait: 3\n',
    ].join('\n---\n');
    const lines = read(text).mistakes.map(({ line, field }) => `${line} ${field}`);
    expect(lines).toEqual([
      '4 http.url',
      '8 id',
      '11 eventTypes',
      expect.stringMatching(/^1[45] replayWindowMinutes$/),
      expect.stringMatching(/^1[56] failedWait$/),
    ]);
    expect(new FleetInvalid(read(text).mistakes).message).toMatch(
      /^5 mistakes in the fleet file, nothing was applied:\n {2}line 4, Target acme\/ci/,
    );
  });

  test('the same thing twice in one file is a mistake at the second one', () => {
    const connector = (version: string, name: string) =>
      `kind: Connector\nid: x\nname: ${name}\nprovider: x\nversion: ${version}\n`;
    const target = `${TARGET}http: { url: http://x.test/ }\n`;
    const other = INGRESS.replace('id: pushes', 'id: others');
    const text = [
      ...[target, target],
      ...[INGRESS, INGRESS.replace('acme-pushes-1f', 'acme-pushes-2f'), other],
      ...[connector('1.0.0', 'X'), connector('1.0.0', 'X'), connector('1.1.0', 'Y')],
      ...['kind: Settings\n', 'kind: Settings\n'],
    ].join('---\n');
    expect(mistakesOf(text).map((line) => line.replace(/^\d+ /, ''))).toEqual([
      'Settings (document 10) kind: is taken by Settings (document 9); keep one of the two',
      'Connector x@1.0.0 (document 7) version: is taken by Connector x@1.0.0 (document 6); keep one of the two',
      'Target acme/ci (document 2) id: is taken by Target acme/ci (document 1); keep one of the two',
      'Subscription acme/pushes (document 4) id: is taken by Subscription acme/pushes (document 3); keep one of the two',
      'Subscription acme/others (document 5) ingress.ref: is taken by Subscription acme/pushes (document 3); keep one of the two',
      'Connector x@1.1.0 (document 8) name: must be the same as in Connector x@1.0.0 (document 6)',
    ]);
  });
});
