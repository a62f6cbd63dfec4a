/** A host's log. It is not that of an API or a worker: a host loads nothing of Temporal. */
import { pino, type Logger } from 'pino';

/** JSON lines on standard error, each with the replica. */
export function hostLog(level: string, replicaId: string): Logger {
  const destination = pino.destination({ dest: 2, sync: false });
  const base = { pid: process.pid, replicaId };
  return pino({ level, name: 'waybill-host', base }, destination);
}
