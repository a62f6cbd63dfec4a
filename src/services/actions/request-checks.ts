/** Whether a request is one that its capability accepts: JSON Schema 2020-12, compiled once each. */
import { WaybillError } from '../../domain/errors';
import type { CapabilityContract } from '../../domain/registry-ports';
import { REQUEST_LIMIT_BYTES } from '../../hosts/protocol/limits';
import { schemaJudge, type SchemaJudge } from '../../schemas/json-schema-judges';

/** Contracts kept compiled; the one used longest ago goes first. */
const KEPT = 500;

export type CheckedContract = Pick<CapabilityContract, 'contractDigest' | 'requestSchema'>;

/** `action_request_invalid` of a request that no host takes, whatever its capability accepts. */
export function sizeProblem(bytes: Uint8Array): WaybillError | null {
  if (bytes.byteLength <= REQUEST_LIMIT_BYTES) return null;
  const detail = `the request has ${bytes.byteLength} bytes; a host takes ${REQUEST_LIMIT_BYTES}`;
  return new WaybillError('action_request_invalid', detail, { field: 'request' });
}

export class RequestChecks {
  readonly #compiled = new Map<string, SchemaJudge>();

  /** `action_request_invalid` naming the field; null: nothing is wrong. */
  problem(contract: CheckedContract, request: unknown): WaybillError | null {
    const judged = this.#judge(contract)(request);
    if (judged.kind === 'fits') return null;
    if (judged.kind === 'too_costly') {
      const detail = `the request ${judged.problem}`;
      return new WaybillError('action_request_invalid', detail, { field: 'request' });
    }
    const [error] = judged.errors;
    const field = `request${error?.instancePath ?? ''}`;
    const detail = `${field} ${error?.message ?? 'does not fit the request schema'}`;
    return new WaybillError('action_request_invalid', detail, { field });
  }

  #judge({ contractDigest, requestSchema }: CheckedContract): SchemaJudge {
    const kept = this.#compiled.get(contractDigest);
    this.#compiled.delete(contractDigest);
    const judge = kept ?? schemaJudge(requestSchema as object);
    this.#compiled.set(contractDigest, judge);
    const [oldest] = this.#compiled.keys();
    if (this.#compiled.size > KEPT && oldest !== undefined) this.#compiled.delete(oldest);
    return judge;
  }
}
