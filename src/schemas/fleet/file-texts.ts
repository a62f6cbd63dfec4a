/** The bytes of a fleet file as text. */
import { WaybillError } from '../../domain/errors';

/**
 * Whatever was meant by bytes that are not UTF-8, it is not what would be published.
 * @throws WaybillError `fleet_unreadable`
 */
export function fileText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    const reason = 'the fleet file is not UTF-8; save it as such';
    throw new WaybillError('fleet_unreadable', reason, { cause: error });
  }
}
