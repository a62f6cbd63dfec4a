/** pino for Waybill and, through it, for the Temporal SDK. */
import { DefaultLogger, Runtime, makeTelemetryFilterString } from '@temporalio/worker';
import type { LogLevel } from '@temporalio/worker';
import type { Logger } from 'pino';
import { pino } from 'pino';

/**
 * A process's logger: JSON lines on standard error, so that standard output stays for answers. Lines
 * are written beside the work, not in its way; an orderly exit writes what is left.
 */
export function createLogger(level: string, name: string): Logger {
  const destination = pino.destination({ dest: 2, sync: false });
  return pino({ level, name, base: { pid: process.pid } }, destination);
}

const PINO_LEVELS = {
  TRACE: 'debug',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
} as const satisfies Record<LogLevel, string>;

/** Must run before any worker or native connection of the process. */
export function installTemporalRuntime(log: Logger): void {
  const child = log.child({ component: 'temporal-sdk' });
  Runtime.install({
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      child[PINO_LEVELS[level]](meta ?? {}, message);
    }),
    // The SDK's native part would else write lines of its own form.
    telemetryOptions: {
      logging: { filter: makeTelemetryFilterString({ core: 'WARN' }), forward: {} },
    },
    // The process decides itself when to stop, in its own order.
    shutdownSignals: [],
  });
}
