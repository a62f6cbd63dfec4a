/**
 * Secrets that the publishing process can read: those that are empty or no keys are mistakes of the
 * fleet. Real: fleet files, shipped schemes, the environment's provider.
 */
import { FleetInvalid } from '../../../src/schemas/fleet/mistakes';
import { readFleet } from '../../../src/schemas/fleet';
import { loadShippedSchemes } from '../../../src/schemas/shipped-schemes';
import { secretMistakes } from '../../../src/services/publications/secret-values';
import { SecretError } from '../../../src/secrets/provider';
import { referencedSecrets } from '../../../src/secrets/references';
import { connector, fleetOf, instance, subscription, target } from '../../support/fleet-texts';

async function mistakes(text: string, env: Readonly<Record<string, string>>): Promise<string[]> {
  const fleet = readFleet(text, loadShippedSchemes());
  expect(fleet.mistakes).toEqual([]);
  const found = await secretMistakes(fleet, referencedSecrets({ env }));
  expect(new FleetInvalid(found).message).not.toContain('planted');
  return found.map(({ line, field, problem }) => `${line} ${field}: ${problem}`);
}

const received = (...secrets: readonly string[]): string =>
  subscription(`ingress: { ref: pushes-7f3a9c, secrets: [${secrets.join(', ')}] }`);
const both = received('{ id: current, ref: env:ONE }', '{ id: next, ref: env:TWO }');
const signed = (scheme: string): string =>
  fleetOf(connector(`webhookScheme: ${scheme}`), instance(), both);

test('an empty secret is refused with its field', async () => {
  expect(await mistakes(both, { ONE: 'planted', TWO: '' })).toEqual([
    expect.stringMatching(
      /^\d+ ingress\.secrets\[1\]\.ref: env:TWO, as it is read here: the secret is empty$/,
    ),
  ]);
  const sending = target('http: { url: http://ci.test/, secretRefs: [env:ONE] }');
  expect(await mistakes(sending, { ONE: '' })).toEqual([
    expect.stringMatching(/ http\.secretRefs\[0\]: env:ONE, .* the secret is empty$/),
  ]);
  const sink =
    'kind: EventSink\ntenant: acme\nid: bus\nurl: http://x.test/\nsecretRefs: [env:ONE]\n';
  expect(await mistakes(sink, { ONE: '' })).toEqual([expect.stringMatching(/ secretRefs\[0\]: /)]);
});

test.each([
  ['standard-webhooks', 'whsec_'],
  ['standard-webhooks', 'whsec_planted!'],
  ['discord', 'planted'],
  ['azure-devops', 'planted'],
  ['box', ''],
])('of %s one that is no key is refused: %j', async (scheme, secret) => {
  const [only, ...others] = await mistakes(signed(scheme), { ONE: secret });
  expect(only).toMatch(
    /^\d+ ingress\.secrets\[0\]\.ref: env:ONE, as it is read here: the secret is /,
  );
  expect(others).toEqual([]);
});

test('many references are read a few at a time, each once, and no longer than is sensible', async () => {
  const secrets = (n: number) =>
    Array.from({ length: 10 }, (_, index) => `{ id: s${index}, ref: 'vault:kv/t${n}#k${index}' }`);
  const documents = Array.from({ length: 20 }, (_, n) =>
    received(...secrets(n % 15)).replace('id: pushes', `id: pushes-${n}`),
  );
  const fleet = readFleet(documents.join('---\n'), new Map());
  let open = 0;
  let most = 0;
  const asked: string[] = [];
  const silent = {
    resolve: async (ref: string): Promise<never> => {
      asked.push(ref);
      most = Math.max(most, (open += 1));
      await new Promise((done) => setTimeout(done, 5));
      open -= 1;
      throw new SecretError('unreadable', `secret ${ref} cannot be read`);
    },
  };
  expect(await secretMistakes(fleet, silent)).toEqual([]);
  expect(most).toBeLessThanOrEqual(8);
  expect([asked.length, new Set(asked).size]).toEqual([150, 150]);
  asked.length = 0;
  await secretMistakes(fleet, silent, { budgetMs: 10 });
  expect(asked.length).toBeLessThan(100);
});

test('what is not here, or of an unknown scheme, is left to the processes that use it', async () => {
  expect(await mistakes(signed('standard-webhooks'), {})).toEqual([]);
  expect(await mistakes(both, { ONE: 'whsec_', TWO: 'planted' })).toEqual([]);
  const file = received('{ id: current, ref: "file:/nowhere/at-all" }');
  expect(await mistakes(file, {})).toEqual([]);
  expect(await mistakes(signed('github'), { ONE: 'planted', TWO: 'planted' })).toEqual([]);
});
