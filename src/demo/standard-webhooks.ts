/**
 * How a target checks that a request is Waybill's: Standard Webhooks, symmetric, in the few lines
 * that any receiver needs. Deliberately apart from the code that signs, so that each proves the
 * other.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface SignedRequest {
  readonly id: string;
  /** Seconds since the epoch, as received. */
  readonly timestamp: string;
  /** `v1,<base64>`, several of them with a space between. */
  readonly signature: string;
  readonly body: Uint8Array;
}

const TOLERANCE_S = 300;

/** Whether one of the secrets (`whsec_` and Base64) signed exactly this, within five minutes. */
export function isSigned(
  request: SignedRequest,
  secrets: readonly string[],
  nowMs: number,
): boolean {
  const ageS = Math.abs(nowMs / 1000 - Number(request.timestamp));
  if (request.id === '' || !(ageS <= TOLERANCE_S)) return false;
  const given = request.signature.split(' ').map((entry) => Buffer.from(entry));
  return secrets.some((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    const hmac = createHmac('sha256', key).update(`${request.id}.${request.timestamp}.`);
    const expected = Buffer.from(`v1,${hmac.update(request.body).digest('base64')}`);
    return given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  });
}
