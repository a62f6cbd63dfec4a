/** Whether a request is one that its capability accepts: JSON Schema 2020-12, compiled once each. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020';
import { WaybillError } from '../../domain/errors';
import type { CapabilityContract } from '../../domain/registry-ports';
import { REQUEST_LIMIT_BYTES } from '../../hosts/protocol/limits';

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
  readonly #ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    addUsedSchema: false,
    logger: false,
  });
  readonly #compiled = new Map<string, ValidateFunction>();

  /** `action_request_invalid` naming the field; null: nothing is wrong. */
  problem(contract: CheckedContract, request: unknown): WaybillError | null {
    const validate = this.#validator(contract);
    if (validate(request)) return null;
    const [error] = validate.errors ?? [];
    const field = `request${error?.instancePath ?? ''}`;
    const detail = `${field} ${error?.message ?? 'does not fit the request schema'}`;
    return new WaybillError('action_request_invalid', detail, { field });
  }

  #validator({ contractDigest, requestSchema }: CheckedContract): ValidateFunction {
    const kept = this.#compiled.get(contractDigest);
    this.#compiled.delete(contractDigest);
    const validate = kept ?? this.#ajv.compile(requestSchema as object);
    this.#compiled.set(contractDigest, validate);
    if (this.#compiled.size > KEPT) this.#forgetOldest();
    return validate;
  }

  #forgetOldest(): void {
    const [oldest] = this.#compiled;
    if (oldest === undefined) return;
    this.#compiled.delete(oldest[0]);
    this.#ajv.removeSchema(oldest[1].schema);
  }
}
