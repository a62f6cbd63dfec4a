/**
 * Runs commands of the build one after another in one process, for tests that run many: each with an
 * environment of its own, as if it were a process of its own. Between two of them a mark stands on
 * both outputs.
 */
import { createRequire } from 'node:module';

const { run } = createRequire(import.meta.url)('../../dist/cli/program.js');

let before = Promise.resolve();

process.on('message', ({ args, env, mark }) => {
  before = before.then(async () => {
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, env);
    process.exitCode = undefined;
    const code = await run(args);
    process.stdout.write(mark);
    process.stderr.write(mark);
    process.send({ code });
  });
});
process.on('disconnect', () => process.exit());
