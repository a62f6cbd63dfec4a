/**
 * A value that a JSON Schema may accept: the smallest with all that is required. It reads the common
 * words of the draft and no more; who makes it judges it by the schema, and an author can write one.
 */

type Schema = Readonly<Record<string, unknown>>;

const MOST_DEPTH = 20;
const MOST_TEXT = 2_000;

/** Undefined where none could be made. */
export function sampleOf(schema: unknown): unknown {
  return made(schema, { root: schema, depth: 0 });
}

interface At {
  readonly root: unknown;
  readonly depth: number;
}

function made(schema: unknown, at: At): unknown {
  if (schema === true) return {};
  if (!isGroup(schema) || at.depth > MOST_DEPTH) return undefined;
  const within = { ...at, depth: at.depth + 1 };
  for (const word of ['const', 'default'] as const) if (word in schema) return schema[word];
  for (const word of ['examples', 'enum'] as const) {
    const [first] = listOf(schema[word]);
    if (first !== undefined) return first;
  }
  if (typeof schema['$ref'] === 'string') return made(referred(schema['$ref'], at.root), within);
  for (const word of ['anyOf', 'oneOf'] as const) {
    for (const branch of listOf(schema[word])) {
      const value = made(branch, within);
      if (value !== undefined) return value;
    }
  }
  const all = listOf(schema['allOf']).filter(isGroup);
  return byType(all.reduce<Schema>(merged, schema), within);
}

function byType(schema: Schema, at: At): unknown {
  const [type = 'properties' in schema || 'required' in schema ? 'object' : undefined] = [
    schema['type'],
  ].flat();
  switch (type) {
    case 'object':
      return objectOf(schema, at);
    case 'array':
      return arrayOf(schema, at);
    case 'string':
      return textOf(schema);
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return false;
    case 'null':
      return null;
    default:
      return {};
  }
}

function objectOf(schema: Schema, at: At): unknown {
  const properties = isGroup(schema['properties']) ? schema['properties'] : {};
  const entries = listOf(schema['required']).map((name): [string, unknown] => [
    String(name),
    made(properties[String(name)] ?? true, at),
  ]);
  return entries.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(entries);
}

function arrayOf(schema: Schema, at: At): unknown {
  const first = listOf(schema['prefixItems']).map((item) => made(item, at));
  const count = Math.max(first.length, numberAt(schema, 'minItems') ?? 0);
  const rest = Array.from({ length: Math.min(count, 100) - first.length }, () =>
    made(schema['items'] ?? true, at),
  );
  const items = [...first, ...rest];
  return items.includes(undefined) ? undefined : items;
}

function textOf(schema: Schema): string {
  const least = numberAt(schema, 'minLength') ?? 0;
  const most = numberAt(schema, 'maxLength') ?? MOST_TEXT;
  return 'conformance '.repeat(MOST_TEXT / 10).slice(0, Math.min(most, Math.max(least, 11)));
}

function numberOf(schema: Schema): number {
  const step = numberAt(schema, 'multipleOf') ?? 1;
  const above = numberAt(schema, 'exclusiveMinimum');
  const least = above === undefined ? (numberAt(schema, 'minimum') ?? 0) : above + step;
  const most = numberAt(schema, 'maximum') ?? Math.max(least, 1);
  const wanted = Math.min(Math.max(least, Math.min(1, most)), most);
  return Math.max(least, Math.floor(wanted / step) * step);
}

/** The two as one schema: of fields, all; of anything else, the later one. */
function merged(one: Schema, other: Schema): Schema {
  const both = (word: string) => ({
    ...(isGroup(one[word]) ? one[word] : {}),
    ...(isGroup(other[word]) ? other[word] : {}),
  });
  const required = [...listOf(one['required']), ...listOf(other['required'])];
  return { ...one, ...other, properties: both('properties'), required };
}

/** Of the document itself only: `#/$defs/ticket`. */
function referred(ref: string, root: unknown): unknown {
  if (!ref.startsWith('#')) return undefined;
  return ref
    .slice(1)
    .split('/')
    .slice(1)
    .reduce<unknown>((node, step) => {
      const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
      return isGroup(node) ? node[name] : undefined;
    }, root);
}

function numberAt(schema: Schema, word: string): number | undefined {
  const value = schema[word];
  return typeof value === 'number' ? value : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isGroup(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
