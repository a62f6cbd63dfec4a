/** Many commands in one process of the build: the start of a program costs more than most commands. */
import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { Readable } from 'node:stream';

/** What a command said, and its exit code. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const RUNNER = path.join(__dirname, 'commands.mjs');

export class OneProcess {
  readonly #cwd: string;
  #child: ChildProcess | undefined;
  #before: Promise<unknown> = Promise.resolve();

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** Runs one command to its end, after those that were asked for before. Its input is empty. */
  async run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Finished> {
    const result = this.#before.then(() => this.#ask(args, env));
    this.#before = result.catch(() => undefined);
    return await result;
  }

  end(): void {
    this.#child?.disconnect();
    this.#child = undefined;
  }

  async #ask(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Finished> {
    const child = (this.#child ??= fork(RUNNER, { cwd: this.#cwd, silent: true }));
    const { stdout, stderr } = child;
    if (stdout === null || stderr === null) throw new Error('the process has no output');
    child.stdin?.end();
    const mark = `\0${randomUUID()}\0`;
    const answered = new Promise<{ code: number }>((resolve, reject) => {
      child.once('message', resolve);
      child.once('exit', () => {
        reject(new Error(`the process of commands ended in: ${args.join(' ')}`));
      });
    });
    const said = Promise.all([until(stdout, mark), until(stderr, mark), answered]);
    child.send({ args, env, mark });
    const [out, err, { code }] = await said;
    child.removeAllListeners('exit');
    return { code, stdout: out, stderr: err };
  }
}

/** What a stream says before the mark. */
async function until(stream: Readable, mark: string): Promise<string> {
  let text = '';
  return await new Promise((resolve) => {
    stream.setEncoding('utf8');
    const take = (chunk: string): void => {
      text += chunk;
      if (!text.endsWith(mark)) return;
      stream.off('data', take);
      resolve(text.slice(0, -mark.length));
    };
    stream.on('data', take);
  });
}
