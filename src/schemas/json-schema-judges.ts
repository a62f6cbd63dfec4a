/**
 * Judging values by JSON Schemas (draft 2020-12) that somebody else wrote. One schema can ask for more
 * steps than there is time for, by a pattern that backtracks or by references that double at each level,
 * and there is no telling by its looks: whatever a schema has to say, it says within a bound.
 */
import { Script, createContext } from 'node:vm';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020';

/** Formats are notes for people, as the draft has it. */
export const SCHEMA_OPTIONS = { strict: false, validateFormats: false, logger: false } as const;

/** A contract of 120 KiB takes a tenth of that to compile, on a machine that is busy. */
const COMPILE_MS = 5_000;
const JUDGE_MS = 1_000;

/** `errors` as the draft tells them; `too_costly`: it was not over within the bound. */
export type Judgement =
  | { readonly kind: 'fits' }
  | { readonly kind: 'misfit'; readonly errors: readonly ErrorObject[] }
  | { readonly kind: 'too_costly'; readonly problem: string };

export type SchemaJudge = (value: unknown) => Judgement;

export class TooCostly extends Error {}

/**
 * Compiles a schema that was held against the draft before; what others are called by is not known to it.
 * @throws TooCostly, and what Ajv throws where it refers to what is not there
 */
export function schemaJudge(
  schema: object | boolean,
  { allErrors = false, judgeMs = JUDGE_MS } = {},
): SchemaJudge {
  const ajv = new Ajv2020({ ...SCHEMA_OPTIONS, allErrors, validateSchema: false });
  const fits = boundedly(() => ajv.compile(schema), COMPILE_MS);
  return (value) => {
    try {
      if (boundedly(() => fits(value), judgeMs)) return { kind: 'fits' };
      return { kind: 'misfit', errors: fits.errors ?? [] };
    } catch (error) {
      if (!(error instanceof TooCostly)) throw error;
      const problem = `cannot be judged by its schema within ${String(judgeMs)} ms; look at its patterns and references`;
      return { kind: 'too_costly', problem };
    }
  };
}

const task = { run: (): unknown => undefined };
const context = createContext(task);
const runTask = new Script('run()');

/**
 * What the work answers. It must not wait for anything, and nothing that it was changing is used again
 * where it was cut off.
 * @throws TooCostly where that is not over within the bound, and what the work throws
 */
export function boundedly<Answer>(work: () => Answer, limitMs: number): Answer {
  const outer = task.run;
  let answer: { readonly of: Answer } | undefined;
  task.run = () => {
    answer = { of: work() };
  };
  try {
    // The engine itself stops, also within a pattern.
    runTask.runInContext(context, { timeout: limitMs });
  } catch (error) {
    if (!isTimeout(error)) throw error;
    throw new TooCostly(`takes more than ${String(limitMs)} ms`, { cause: error });
  } finally {
    task.run = outer;
  }
  if (answer === undefined) throw new TooCostly('was cut off');
  return answer.of;
}

function isTimeout(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}
