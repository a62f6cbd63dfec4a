/**
 * Byte-exact bodies that re-serialising, trimming or decoding receivers get wrong, with digests that
 * were computed elsewhere. Asserted: verification sees bytes only; reading comes after it.
 */
import { execFileSync } from 'node:child_process';
import { compileScheme } from '../../../src/signing/webhooks/compile';
import { payloadText, readJson, textAt } from '../../../src/signing/webhooks/payload';
import { verify } from '../../../src/signing/webhooks/verify';
import { requestOf, shippedScheme } from './fixtures';

const secret = 'br-fixture-secret';
const github = compileScheme(shippedScheme('github'));
const stripe = compileScheme(shippedScheme('stripe'));

const bodies = {
  'odd spacing, number forms and escapes':
    '7b202262223a312e302c202261223a226361665c75303065395c2f78222c20226e223a316532207d0a',
  'accent, emoji and line separator': '7b226d223a22c3a920f09f988020e280a8227d',
  'a byte that is not UTF-8': '7b226d223a22e9227d',
  'byte order mark': 'efbbbf7b2261223a317d',
  'no bytes': '',
};
const digests: Record<keyof typeof bodies, string> = {
  'odd spacing, number forms and escapes':
    'efba731df283955d1f418a814f121665ba93383171670783ef2d792b15661d60',
  'accent, emoji and line separator':
    '6caa8603161f5d74ab38277b4b12173972dc885960c283c9e684f65fde98bb41',
  'a byte that is not UTF-8': 'f48d6317fd197fcc352a98d35d1571c4c780597fb9a0de093732722eccde3e18',
  'byte order mark': '2c43460c7169cbc2294ca4f81e200ac8ba84c0390bd8ce3dabeb2672e13e5540',
  'no bytes': '55f614a90e41005e23a10e259063a8903124cc637127eb8aea951b6becdcdf9e',
};
const names = Object.keys(bodies) as (keyof typeof bodies)[];
const bytesOf = (name: keyof typeof bodies) => Buffer.from(bodies[name], 'hex');

async function verifies(compiled: typeof github, header: [string, string], body: Uint8Array) {
  const secrets = [{ id: 's', value: secret }];
  return (await verify(compiled, requestOf([header], body), secrets, { receivedAtMs: 0 })).ok;
}

it.each(names)('a body with %s is verified over its bytes', async (name) => {
  const header: [string, string] = ['x-hub-signature-256', `sha256=${digests[name]}`];
  expect(await verifies(github, header, bytesOf(name))).toBe(true);
});

it('a timestamp before the body is signed with it', async () => {
  const digest = '25d1b8ccc6681cd8b7cfd739db92bc0dbc61d674f58874c3ea89c9e72338995e';
  const header: [string, string] = ['stripe-signature', `t=1700000000,v1=${digest}`];
  expect(await verifies(stripe, header, bytesOf('accent, emoji and line separator'))).toBe(true);
});

it("the vendor's own library signs what the shipped scheme verifies", async () => {
  const body = '{"zen":"Encourage flow. é 😀 \u2028"}';
  const header: [string, string] = ['X-Hub-Signature-256', octokitSignature(body)];
  expect(await verifies(github, header, Buffer.from(body))).toBe(true);
});

it('bytes that are not UTF-8 are no text, which is another fault than a bad signature', () => {
  expect(payloadText(bytesOf('a byte that is not UTF-8'))).toBeNull();
  expect(readJson(bytesOf('a byte that is not UTF-8')).value).toBeUndefined();
});

it('reading skips one leading byte order mark and no second one', () => {
  expect(payloadText(bytesOf('byte order mark'))).toBe('{"a":1}');
  expect(payloadText(Buffer.from('\ufeff\ufeffa=1'))).toBe('\ufeffa=1');
  const form = new URLSearchParams(payloadText(Buffer.from('\ufeffa=1')) ?? '');
  expect([...form.keys()]).toEqual(['a']);
});

it('an empty body is empty text and no JSON', () => {
  expect(payloadText(bytesOf('no bytes'))).toBe('');
  expect(readJson(bytesOf('no bytes')).value).toBeUndefined();
});

it('numbers are read as they are written', () => {
  const json = readJson(bytesOf('odd spacing, number forms and escapes')).value;
  expect(textAt(json, 'b')).toBe('1.0');
  expect(textAt(json, 'n')).toBe('1e2');
  expect(textAt(json, 'a')).toBe('café/x');
});

/** In a process of its own: the library can be imported only, and jest cannot import. */
function octokitSignature(body: string): string {
  const program = `
    import { sign } from '@octokit/webhooks-methods';
    const [secret, body] = process.argv.slice(-2);
    process.stdout.write(await sign(secret, body));`;
  const args = ['--input-type=module', '--eval', program, '--', secret, body];
  return execFileSync(process.execPath, args, { cwd: __dirname, encoding: 'utf8' });
}
