import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WaybillError } from '../../domain/errors';
import { identityOf, processState } from './process-identity';

/** The right to be the one Waybill of a folder, until `release` or the end of this process. */
export interface InstanceLock {
  release(): void;
}

interface Claim {
  readonly pid: number;
  readonly identity: string;
}

/** Another living process: `held` once it has the lock, before that it is still looking. */
interface Other {
  readonly pid: number;
  readonly held: boolean;
}

const CLAIM_FILE = /^instance-\d+-[0-9a-f]{8}\.json$/;
const ATTEMPTS = 20;

/**
 * Takes the lock of a state folder, creating the folder if need be; throws `instance_running` with
 * the holder's pid when another living process has it.
 *
 * Every process writes a claim of its own and then looks at the others': no file is ever taken over,
 * so there is no moment in which two can win. A claim of a dead process (pid and start time) counts
 * for nothing and is removed at once. Of two that start in the same instant both may step back;
 * each then tries again after a random few milliseconds.
 */
export async function acquireInstanceLock(folder: string): Promise<InstanceLock> {
  const own = `instance-${process.pid}-${randomBytes(4).toString('hex')}.json`;
  const path = join(folder, own);
  let other: Other | undefined;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    writeClaim(folder, path);
    other = livingOther(folder, own);
    if (other === undefined) {
      writeFileSync(heldMark(path), '');
      return {
        release: () => {
          withdraw(path);
        },
      };
    }
    withdraw(path);
    if (other.held) break;
    await delay(5 + Math.random() * 45);
  }
  throw new WaybillError(
    'instance_running',
    `Another Waybill (process ${other?.pid ?? 'unknown'}) runs in ${folder}; stop it, or use ` +
      'another folder with WAYBILL_HOME.',
  );
}

function writeClaim(folder: string, path: string): void {
  const claim: Claim = { pid: process.pid, identity: identityOf(process.pid) };
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${path}.new`, JSON.stringify(claim), { mode: 0o644 });
    renameSync(`${path}.new`, path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new WaybillError(
      'config_invalid',
      `The folder ${folder} cannot be used (${reason}); choose another one with WAYBILL_HOME.`,
      { field: 'WAYBILL_HOME', cause: error },
    );
  }
}

/** A file of its own: replacing the claim could hide it from a reader of the folder for a moment. */
function heldMark(path: string): string {
  return `${path}.held`;
}

function withdraw(path: string): void {
  rmSync(path, { force: true });
  rmSync(heldMark(path), { force: true });
}

function livingOther(folder: string, own: string): Other | undefined {
  let looking: Other | undefined;
  for (const name of readdirSync(folder)) {
    if (!CLAIM_FILE.test(name) || name === own) continue;
    const path = join(folder, name);
    const claim = readClaim(path);
    if (claim === undefined) continue;
    if (!isAlive(claim)) withdraw(path);
    else if (existsSync(heldMark(path))) return { pid: claim.pid, held: true };
    else looking = { pid: claim.pid, held: false };
  }
  return looking;
}

function isAlive(claim: Claim): boolean {
  const state = processState(claim.pid);
  // Where other users' processes are hidden, a living pid is taken for the holder: the safe side.
  return state.alive && (state.identity === undefined || state.identity === claim.identity);
}

function readClaim(path: string): Claim | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Claim;
  } catch {
    // Withdrawn in between.
    return undefined;
  }
}
