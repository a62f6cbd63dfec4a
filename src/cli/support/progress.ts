/** Shows steps while they run, on standard error: live in a terminal, plain lines anywhere else. */
import {
  Listr,
  ListrLogger,
  ProcessOutput,
  type ListrDefaultRendererLogLevels,
  type ListrTask,
} from 'listr2';
import type { RunSteps, Step } from '../../workers/up/steps';
import { oneLine } from './failures';

export function progressSteps(): RunSteps {
  return process.stderr.isTTY ? liveSteps : plainSteps;
}

async function liveSteps(steps: readonly Step[]): Promise<void> {
  const processOutput = new ProcessOutput(process.stderr, process.stderr);
  const logger = new ListrLogger<ListrDefaultRendererLogLevels>({ processOutput });
  const tasks = new Listr(steps.map(liveTask), {
    concurrent: true,
    exitOnError: true,
    // A failure is told once, by whoever ends the program; so is the end itself.
    registerSignalListeners: false,
    renderer: 'default',
    rendererOptions: { logger, showErrorMessage: false },
  });
  await tasks.run();
}

function liveTask({ title, work }: Step): ListrTask {
  return {
    title,
    task: async (_context, task) => {
      const began = performance.now();
      let last = '';
      await work((line) => {
        last = line;
        task.output = line;
      });
      task.title = doneText(title, last, began);
    },
  };
}

async function plainSteps(steps: readonly Step[]): Promise<void> {
  await Promise.all(
    steps.map(async ({ title, work }) => {
      const began = performance.now();
      let last = '';
      say(`${title} …`);
      await work((line) => {
        if (last !== '') say(`${title}: ${oneLine(last)}`);
        last = line;
      });
      say(doneText(title, last, began));
    }),
  );
}

function doneText(title: string, last: string, began: number): string {
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  return `${title}: ${last === '' ? 'ready' : oneLine(last)} (${seconds} s)`;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
