/** The published catalog as a fleet file on standard output. */
import { loadShippedSchemes } from '../../schemas/shipped-schemes';
import { exportFleet } from '../../services/publications/exporting';
import { withControl } from './fleet-files';

/** @param tenant only what belongs to it; null: everything */
export async function exportCatalog(tenant: string | null): Promise<void> {
  const text = await withControl((control) => exportFleet(control, tenant, loadShippedSchemes()));
  process.stdout.write(text);
}
