/** From what a call answers to its data, or an exception. */
import type { components } from '../../client/openapi';

type Problem = components['schemas']['Problem'];

/** An answer that says what is wrong; `code` is stable and listed in docs/errors.md. */
export class WaybillProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly problem: Problem | null;

  constructor(status: number, problem: Problem | null) {
    super(problem?.detail ?? `the API answered ${status}`);
    this.name = 'WaybillProblem';
    this.status = status;
    this.code = problem?.code ?? 'unknown';
    this.problem = problem;
  }
}

interface Answered<Data> {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response: Response;
}

/**
 * The data of a call.
 * @throws WaybillProblem where it was refused
 */
export async function answerOf<Data>(call: Promise<Answered<Data>>): Promise<NonNullable<Data>> {
  const { data, error, response } = await call;
  if (data !== undefined && data !== null) return data;
  throw new WaybillProblem(response.status, isProblem(error) ? error : null);
}

function isProblem(error: unknown): error is Problem {
  return typeof error === 'object' && error !== null && 'code' in error && 'detail' in error;
}
