/** The program `waybill`: reads the command line, runs one command, ends with its exit code. */
import { run } from './program';
import { survivesClosedPipe } from './support/output';

survivesClosedPipe(process.stdout);
void run(process.argv.slice(2)).then((exitCode) => {
  // Not left to chance: a connection that is still open must not keep the program.
  process.exit(exitCode);
});
