/** Bringing everything up, telling the story on request, and stopping it all again. */
import path from 'node:path';
import { loadPayloads } from '../../demo/payloads';
import { EXAMPLE_FLEET } from '../../workers/up/fleet';
import { bringUp, type RunningUp } from '../../workers/up/up';
import { CommandFailure } from './failures';
import { printJson, printLine } from './output';
import { progressSteps } from './progress';
import { aborted, endRequested } from './signals';
import { namingDatabase } from './storage';
import { addressLines, tellStory } from './story-report';

export interface UpOptions {
  readonly story?: true;
  readonly once?: true;
  readonly fleet?: string;
  readonly json?: true;
}

export async function runUp(options: UpOptions): Promise<void> {
  const signal = endRequested();
  const runSteps = progressSteps();
  // Known before anything is fetched or started.
  const payloads = options.story ? await loadPayloads() : null;
  const fleetFile = options.fleet === undefined ? EXAMPLE_FLEET : path.resolve(options.fleet);
  const given = { url: process.env['DATABASE_URL'] ?? null, variable: 'DATABASE_URL' };
  const running = await namingDatabase(given, () =>
    bringUp({ environment: process.env, ...{ fleetFile, runSteps, signal } }),
  ).catch((error: unknown) => {
    throw signal.aborted ? interrupted() : error;
  });
  const story: { asExpected: boolean | null } = { asExpected: null };
  await untilStopped(running, signal, async (over) => {
    const json = options.json === true;
    if (payloads === null) tellAddresses(running, json);
    else {
      story.asExpected = await tellStory({ running, payloads, runSteps, json, signal: over });
    }
    if (!options.once) await aborted(signal);
  });
  const failure = payloads === null ? null : storyFailure(story.asExpected, options.once === true);
  if (failure !== null) throw failure;
}

/** `asExpected` is null where the end came before that of the story, which is what `--once` is for. */
export function storyFailure(asExpected: boolean | null, once: boolean): CommandFailure | null {
  if (asExpected === false) {
    return new CommandFailure('story_failed', 'not every line of the story came out as expected');
  }
  return asExpected === null && once ? interrupted() : null;
}

function tellAddresses(running: RunningUp, json: boolean): void {
  if (json) printJson({ addresses: running.addresses });
  else printLine(addressLines(running).join('\n'));
}

/** Ends with the work, with a signal, or with the loss of a process; then everything is stopped. */
async function untilStopped(
  running: RunningUp,
  signal: AbortSignal,
  work: (over: AbortSignal) => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([work(over.signal), running.lost, aborted(signal)]);
  } finally {
    over.abort();
    process.stderr.write('stopping …\n');
    await running.stop();
  }
}

function interrupted(): CommandFailure {
  return new CommandFailure('interrupted', 'stopped before the end; nothing runs on');
}
