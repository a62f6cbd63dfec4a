/** Builds the workflow bundle once, so that no worker spends its start on it. Run by the build. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';

/** Where the bundle of this build lies. */
export const WORKFLOW_BUNDLE = path.join(__dirname, '..', 'workflow-bundle.js');

async function build(): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('../workflows/index'),
  });
  await writeFile(WORKFLOW_BUNDLE, code);
}

if (require.main === module) {
  build().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? String(error.stack) : String(error)}\n`);
    process.exitCode = 1;
  });
}
