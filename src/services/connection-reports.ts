/**
 * What a system of connections tells of one of them, published as the state of its instance
 * (docs/architecture, "Connections").
 */
import { readInstances } from '../db/catalog';
import { readLastReport, writeReport, type LastReport } from '../db/connection-reports';
import type { Database } from '../db/database';
import { WaybillError } from '../domain/errors';
import type { TenantId } from '../domain/ids';
import type { ConnectionEvent, ConnectionEventAnswer } from '../schemas/api-connection-events';
import { readFleet, type Fleet } from '../schemas/fleet';
import { FleetInvalid } from '../schemas/fleet/mistakes';
import { writtenInstance, type WrittenDocument } from '../schemas/fleet/written-documents';
import { fleetText } from '../schemas/fleet/yaml-texts';
import { publishChange } from './publications';

/**
 * Takes a report on once: what comes again, or after a newer one, changes nothing.
 * @param control role waybill_control
 * @throws WaybillError `not_found` where there is no such instance, `connection_state_refused` where it
 *   cannot become that, `publication_busy`
 */
export async function takeConnectionReport(
  control: Database,
  tenantId: TenantId,
  { id: eventId, source, data }: ConnectionEvent,
  actor: string,
): Promise<ConnectionEventAnswer['outcome']> {
  const key = { tenant: tenantId, id: data.connectionId };
  const report: LastReport = { version: data.version, source, eventId };
  let outcome: ConnectionEventAnswer['outcome'] = 'applied';
  try {
    await publishChange(
      control,
      async (run) => {
        const [instance] = await readInstances(run, [key]);
        if (instance === undefined) throw new WaybillError('not_found');
        const last = await readLastReport(run, key);
        if (last !== null && last.version >= report.version) {
          outcome = repeats(last, report) ? 'duplicate' : 'older';
          return null;
        }
        await writeReport(run, key, { ...report, state: data.state });
        outcome = instance.status === data.state ? 'unchanged' : 'applied';
        return outcome === 'unchanged'
          ? null
          : reported({ ...writtenInstance(instance), status: data.state });
      },
      { actor, reason: `connection event ${source} ${eventId}` },
    );
  } catch (error) {
    throw error instanceof FleetInvalid ? refused(error) : error;
  }
  return outcome;
}

function repeats(last: LastReport, report: LastReport): boolean {
  return last.source === report.source && last.eventId === report.eventId;
}

/** A state as its owner says it is no edit of the instance: it takes no new revision. */
function reported(written: WrittenDocument): Fleet {
  return { ...readFleet(fleetText([written]), new Map()), reported: true };
}

function refused({ mistakes }: FleetInvalid): WaybillError {
  const detail = mistakes.map(({ field, problem }) => `${field}: ${problem}`).join('; ');
  return new WaybillError('connection_state_refused', detail, { field: 'state' });
}
