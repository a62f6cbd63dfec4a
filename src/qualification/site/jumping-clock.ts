/**
 * Preloaded into one process, threads included: its wall clock is ahead by as much as a file says, from one
 * moment to the next. What measures a duration goes on as ever.
 */
import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { clockLine, CLOCK_VARIABLE } from './clock-settings';

const LOOK_MS = 20;

const file = process.env[CLOCK_VARIABLE] ?? '';
const True = Date;
let aheadMs = 0;

const nowMs = (): number => True.now() + aheadMs;

globalThis.Date = new Proxy(True, {
  construct: (target, given: unknown[], made) =>
    Reflect.construct(target, given.length === 0 ? [nowMs()] : given, made) as Date,
  apply: () => new True(nowMs()).toString(),
  get: (target, key, receiver): unknown =>
    key === 'now' ? nowMs : Reflect.get(target, key, receiver),
});

function look(): void {
  const wanted = Number(readFileSync(file, 'utf8'));
  if (wanted === aheadMs) return;
  aheadMs = wanted;
  if (isMainThread) process.stdout.write(`${clockLine(aheadMs)}\n`);
}

setInterval(look, LOOK_MS).unref();
