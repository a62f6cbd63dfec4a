/** Fleets as they come: read, with the secrets that they refer to looked at. */
import { readFleet, type Fleet } from '../../schemas/fleet';
import { fileText } from '../../schemas/fleet/file-texts';
import type { ShippedSchemes } from '../../schemas/shipped-schemes';
import type { SecretProvider } from '../../secrets/provider';
import { secretMistakes } from './secret-values';

export interface FleetReading {
  readonly schemes: ShippedSchemes;
  /** Of the process that publishes: what it cannot read says nothing. */
  readonly secrets: SecretProvider;
}

/**
 * The fleet of a file with all its mistakes that are known without the catalog.
 * @throws WaybillError `fleet_unreadable` when it is not UTF-8, or not YAML at all
 */
export async function checkedFleet(
  file: Uint8Array,
  { schemes, secrets }: FleetReading,
): Promise<Fleet> {
  const read = readFleet(fileText(file), schemes);
  return { ...read, mistakes: [...read.mistakes, ...(await secretMistakes(read, secrets))] };
}
