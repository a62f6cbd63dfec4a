/**
 * Reading a fleet file: real YAML texts, no database. Asserted is the normal form; mistakes have a
 * suite of their own.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Fleet } from '../../src/schemas/fleet';
import { readFleet } from '../../src/schemas/fleet';
import { loadShippedSchemes } from '../../src/schemas/shipped-schemes';
import { HttpTarget } from '../../src/schemas/targets';

const schemes = loadShippedSchemes();
const read = (text: string): Fleet => readFleet(text, schemes);

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

describe('a fleet file that is right', () => {
  test('the shipped example is read without a mistake', () => {
    const file = path.join(__dirname, '..', '..', 'examples', 'fleet.yaml');
    const fleet = read(readFileSync(file, 'utf8'));
    expect(fleet.mistakes).toEqual([]);
    expect(fleet.subscriptions.map(({ thing }) => thing.ingress?.ref)).toEqual([
      'github-acme-pushes-7f3a9c',
      'github-acme-releases-1d52e8',
      'github-acme-issues-b6e04d',
    ]);
    expect(fleet.connectors[0]?.thing.webhookScheme).toEqual(schemes.get('github'));
    expect(fleet.subscriptions[0]?.thing.retry).toMatchObject({
      attempts: 3,
      backoff: { kind: 'list', delaysMs: [300, 600] },
    });
  });

  test('what is left out has the documented value, and life-cycle fields stay open', () => {
    const { targets, subscriptions } = read(
      `${TARGET}http: { url: "https://example.com/in" }\n---\n${INGRESS}`,
    );
    const http = targets[0]?.thing.http;
    expect(http).toEqual({
      url: 'https://example.com/in',
      timeoutMs: 10_000,
      secretRefs: [],
      success: null,
    });
    expect(HttpTarget.parse(http)).toEqual(http);
    expect(subscriptions[0]?.thing).toMatchObject({
      state: null,
      retry: null,
      ingress: { bodyLimitBytes: 26_214_400 },
    });
  });

  test('a scheme can be written in place of a shipped name', () => {
    const text = `kind: Connector
id: internal
name: Internal
provider: acme
version: 1.0.0
webhookScheme:
  kind: hmac
  hash: sha256
  key_encoding: utf8
  message: '{body}'
  signature: { location: header, name: X-Signature, format: raw, encoding: hex }
`;
    const fleet = read(text);
    expect(fleet.mistakes).toEqual([]);
    expect(fleet.connectors[0]?.thing.webhookScheme).toMatchObject({ kind: 'hmac' });
  });

  test('instants of secrets are kept in UTC, lists without repetition', () => {
    const { subscriptions } = read(
      INGRESS.replace('[push]', '[push, push]').replace(
        'ref: env:SECRET',
        'ref: env:SECRET, notAfter: 2026-03-01T01:00:00+01:00',
      ),
    );
    expect(subscriptions[0]?.thing.eventTypes).toEqual(['push']);
    expect(subscriptions[0]?.thing.ingress?.secrets).toEqual([
      { id: 'current', ref: 'env:SECRET', notBefore: null, notAfter: '2026-03-01T00:00:00.000Z' },
    ]);
  });

  test.each([
    ['25MiB', 26_214_400],
    ['512KiB', 524_288],
    ['1MB', 1_000_000],
    ['4096', 4096],
    ['100B', 100],
  ])('a body limit of %s is %i bytes', (written, bytes) => {
    const fleet = read(INGRESS.replace('  secrets', `  bodyLimit: ${written}\n  secrets`));
    expect(fleet.mistakes).toEqual([]);
    expect(fleet.subscriptions[0]?.thing.ingress?.bodyLimitBytes).toBe(bytes);
  });

  test('empty documents and comments between documents count for nothing', () => {
    const fleet = read('---\n# only a comment\n---\nkind: Settings\nreplayWindowMinutes: 5\n---\n');
    expect(fleet.mistakes).toEqual([]);
    expect(fleet.settings[0]?.thing.replayWindowMinutes).toBe(5);
  });
});

test.each([
  ['a comment, an end mark and a directive between them', '# c\n...\n%YAML 1.2\n---\n'],
  ['a byte order mark before them', '\ufeffkind: QuotaPolicy\nid: a\nlimits: {}\n---\n'],
  ['lines that end as on Windows', 'kind: QuotaPolicy\r\nid: a\r\nlimits: {}\r\n---\r\n'],
  ['an empty document before them', '---\n---\n'],
])('mistakes stand on their lines with %s', (_what, before) => {
  const text = `${before}kind: QuotaPolicy\nlimit: {}\n---\nkind: QuotaPolicy\nid: b\nlimits: 7\n`;
  const first = before.split('\n').length;
  const found = read(text).mistakes.map(({ line, field }) => `${line} ${field}`);
  // A field that is missing stands where its document begins.
  expect(found).toEqual([
    `${first} id`,
    `${first} limits`,
    `${first + 1} limit`,
    `${first + 5} limits`,
  ]);
});

test('more mistakes than a call takes arguments are all told', () => {
  const wrong = Array.from({ length: 130_000 }, () => 'x').join(', ');
  const { mistakes } = read(`kind: Instance\ngrants: [${wrong}]\n`);
  expect(mistakes.filter(({ field }) => field.startsWith('grants[')).length).toBe(130_000);
});

describe('a text that is not YAML', () => {
  test.each([
    ['a tab as indentation', 'kind: Target\nhttp:\n\turl: x\n', /line 3/],
    ['a key twice', 'kind: Target\nid: a\nid: b\n', /line 3: .*unique/],
    ['an open bracket', 'kind: [Target\n', /line 2|line 1/],
    ['an unknown tag', 'kind: !secret Target\n', /line 1/],
    ['aliases that grow without end', bomb(), /alias/i],
    ['more than 64 MiB', `# ${'x'.repeat(64 * 1024 * 1024)}`, /larger than 64 MiB/],
  ])('%s is unreadable, with the line', (_name, text, expected) => {
    const error = thrownBy(() => read(text));
    expect(error).toMatchObject({ code: 'fleet_unreadable' });
    expect(error.message).toMatch(expected);
  });

  function thrownBy(work: () => unknown): Error {
    try {
      work();
    } catch (error) {
      if (error instanceof Error) return error;
    }
    throw new Error('nothing was thrown');
  }

  function bomb(): string {
    const levels = Array.from({ length: 12 }, (_, level) => {
      const items =
        level === 0
          ? 'x'
          : Array(9)
              .fill(`*a${level - 1}`)
              .join(', ');
      return `a${level}: &a${level} [${items}]`;
    });
    return `kind: Target\n${levels.join('\n')}\n`;
  }
});
