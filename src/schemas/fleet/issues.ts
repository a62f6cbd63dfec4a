/** What zod found wrong with a document, said in the words of the person who wrote it. */
import { z } from 'zod';
import type { FieldPath } from './mistakes';

export interface FieldProblem {
  readonly path: FieldPath;
  readonly problem: string;
}

type Issue = z.core.$ZodIssue;

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a group of fields',
  record: 'a group of fields',
  null: 'empty',
};

/** The problems of one document. `written` is what was parsed, `schema` what it was held against. */
export function describeIssues(
  issues: readonly Issue[],
  written: unknown,
  schema: z.ZodType,
): FieldProblem[] {
  return issues.flatMap((issue) => describeIssue(issue, [], { written, schema }));
}

interface Context {
  readonly written: unknown;
  readonly schema: z.ZodType;
}

function describeIssue(issue: Issue, base: FieldPath, context: Context): FieldProblem[] {
  const path = [...base, ...issue.path.map((step) => (typeof step === 'symbol' ? '?' : step))];
  if (issue.code === 'unrecognized_keys') {
    const problem = `there is no such field; known here: ${knownFields(context.schema, path)}`;
    return issue.keys.map((key) => ({ path: [...path, key], problem }));
  }
  if (issue.code === 'invalid_union') return describeUnion(issue, path, context);
  if (issue.code === 'invalid_type' || issue.code === 'invalid_value') {
    return [{ path, problem: describeValue(issue, valueAt(context.written, path)) }];
  }
  return [{ path, problem: issue.message }];
}

/** Of a union's branches, the one that understood most of what was written. */
function describeUnion(
  issue: z.core.$ZodIssueInvalidUnion,
  path: FieldPath,
  context: Context,
): FieldProblem[] {
  const branches = issue.errors.map((inner) =>
    inner.flatMap((one) => describeIssue(one, path, context)),
  );
  const depth = (branch: readonly FieldProblem[]) =>
    branch.reduce((most, problem) => Math.max(most, problem.path.length), 0);
  const deepest = Math.max(0, ...branches.map(depth));
  const best = branches.find((branch) => depth(branch) === deepest);
  if (best !== undefined && deepest > path.length) return best;
  const texts = new Set(branches.flat().map(({ problem }) => problem.replace(/^must be /, '')));
  return [
    { path, problem: texts.size === 0 ? issue.message : `must be ${[...texts].join(' or ')}` },
  ];
}

function describeValue(
  issue: z.core.$ZodIssueInvalidType | z.core.$ZodIssueInvalidValue,
  written: unknown,
): string {
  const wanted =
    issue.code === 'invalid_type'
      ? (TYPE_WORDS[issue.expected] ?? issue.expected)
      : oneOf(issue.values.map(String));
  if (written === undefined) return `is missing; it must be ${wanted}`;
  if (issue.code === 'invalid_type' && issue.expected === 'string' && isScalar(written)) {
    return 'must be a text: put the value in quotes';
  }
  return `must be ${wanted}`;
}

function oneOf(values: readonly string[]): string {
  return values.length === 1 ? values.join('') : `one of ${values.join(', ')}`;
}

function isScalar(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean';
}

function valueAt(root: unknown, path: FieldPath): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = (value as Readonly<Record<string | number, unknown>>)[step];
  }
  return value;
}

const JsonNode = z.looseObject({
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
});

/** The fields that a document may have at `path`, read off its schema. */
function knownFields(schema: z.ZodType, path: FieldPath): string {
  let nodes: unknown[] = [z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })];
  for (const step of path) nodes = nodes.flatMap((node) => below(node, step));
  const names = nodes.flatMap(branches).flatMap((node) => Object.keys(node.properties ?? {}));
  return [...new Set(names)].join(', ');
}

function below(node: unknown, step: string | number): unknown[] {
  return branches(node).map((branch) =>
    typeof step === 'number' ? branch.items : branch.properties?.[step],
  );
}

function branches(node: unknown): z.infer<typeof JsonNode>[] {
  const parsed = JsonNode.safeParse(node);
  if (!parsed.success) return [];
  return [
    parsed.data,
    ...[...(parsed.data.anyOf ?? []), ...(parsed.data.oneOf ?? [])].flatMap(branches),
  ];
}
