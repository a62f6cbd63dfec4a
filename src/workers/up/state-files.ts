/** Where logs and records of servers and processes lie below the home folder. */
import path from 'node:path';

export function logFile(home: string, name: string): string {
  return path.join(home, 'logs', `${name}.log`);
}

export function recordFile(home: string, name: string): string {
  return path.join(home, 'run', `${name}.json`);
}
