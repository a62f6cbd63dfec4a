// The health check of a container: exit 0 exactly when the process says that it is ready.
'use strict';
fetch(`http://127.0.0.1:${process.argv[2]}/ready`, { signal: AbortSignal.timeout(4_000) }).then(
  (answer) => process.exit(answer.ok ? 0 : 1),
  () => process.exit(1),
);
