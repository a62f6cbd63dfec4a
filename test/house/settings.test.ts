/** Every setting is explained, with its real default, and nothing else is. */
import { parseConfig } from '../../src/schemas/config';
import { projectFiles, read, typescriptFiles } from './repository';

const NAME =
  /\b(?:WAYBILL_[A-Z_]*[A-Z]|VAULT_(?:ADDR|TOKEN|NAMESPACE|CACERT)|DATABASE_URL|POSTGRES_PASSWORD)\b/g;
/** Read by tests, benchmarks and their servers only; docs/contributing.md explains them. */
const FOR_DEVELOPMENT = ['WAYBILL_HOLD_AT'];

const processSettings = namesIn(read('src/schemas/config.ts'));
const otherSettings = namesIn(...typescriptFiles('src').map(read));
const composeSettings = interpolated(read('docker-compose.yml'));

test('docs/operations.md explains every variable that the product reads, and no other', () => {
  const explained = namesIn(read('docs/operations.md'));
  const wanted = [...otherSettings, ...composeSettings].filter(
    (name) => !FOR_DEVELOPMENT.includes(name),
  );
  expect(explained).toEqual([...new Set(wanted)].sort());
});

test('docs/contributing.md explains the variables for development', () => {
  const explained = namesIn(read('docs/contributing.md'));
  expect(explained).toEqual(expect.arrayContaining(FOR_DEVELOPMENT));
});

test('.env.example lists the settings of processes and of docker-compose.yml, and no other', () => {
  const listed = exampleLines().map(([name]) => name);
  const wanted = [...new Set([...processSettings, ...composeSettings])].sort();
  expect([...listed].sort()).toEqual(wanted);
});

test('.env.example shows the real defaults', () => {
  expect(parseConfig(Object.fromEntries(exampleLines()))).toEqual(parseConfig({}));
});

test('no document names a variable that does not exist', () => {
  const files = projectFiles().filter((file) => file.endsWith('.md'));
  const known = new Set([...namesIn(...everyProgram()), ...composeSettings]);
  const unknown = files.flatMap((file) =>
    namesIn(read(file))
      .filter((name) => !known.has(name))
      .map((name) => `${file}: ${name}`),
  );
  expect(unknown).toEqual([]);
});

function everyProgram(): string[] {
  return [...typescriptFiles('src', 'test', 'bench'), 'docker-compose.yml'].map(read);
}

function namesIn(...texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap((text) => text.match(NAME) ?? []))].sort();
}

/** What docker compose takes from .env. */
function interpolated(compose: string): string[] {
  const names = [...compose.matchAll(/(?<!\$)\$\{([A-Z_]+)/g)].map(([, name = '']) => name);
  return [...new Set(names)].sort();
}

/** `NAME=value` and `#NAME=value`. */
function exampleLines(): [string, string][] {
  return [...read('.env.example').matchAll(/^#?([A-Z_]+)=(.*)$/gm)].map(
    ([, name = '', value = '']) => [name, value],
  );
}
