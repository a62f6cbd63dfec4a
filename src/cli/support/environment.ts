/** What a short command needs of its surroundings. */
import { userInfo } from 'node:os';
import path from 'node:path';
import { pino, type Logger } from 'pino';
import type { Config } from '../../schemas/config';
import { parseConfig } from '../../schemas/config';
import { readRunFile, type RunFile } from '../../workers/up/run-file';

export interface Surroundings {
  readonly config: Config;
  /** The `waybill up` that runs in the home folder now; null when there is none. */
  readonly running: RunFile | null;
}

/**
 * The settings, completed by what a running `waybill up` of the home folder says: its database is
 * the one that is meant when the environment names none.
 */
export function surroundings(): Surroundings {
  const home = path.resolve(parseConfig(process.env).home);
  const running = readRunFile(home);
  const given = process.env['DATABASE_URL'];
  const databaseUrl = given === undefined || given === '' ? running?.databaseUrl : given;
  const config = parseConfig({ ...process.env, WAYBILL_HOME: home, DATABASE_URL: databaseUrl });
  return { config, running };
}

/** A short command says what is wrong in its one line; a log beside it would be noise. */
export function quietLog(): Logger {
  return pino({ level: 'silent' });
}

/** The one at the keyboard, for audit and receipts. */
export function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have no entry.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
