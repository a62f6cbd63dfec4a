/** What the workflow sandbox is given: the real bundle of the workflows, as the build makes it. */
import path from 'node:path';
import { DefaultLogger, bundleWorkflowCode } from '@temporalio/worker';
import { ROOT } from './repository';

/** The head of each module in a bundle: `/***\/ "./src/workflows/index.ts":`. */
const MODULE_HEAD = /^\/\*{3}\/ "([^"]+)"/gm;

const ALLOWED = [
  /^\.\/src\/(workflows|domain)\//,
  // The SDK's part for workflows, with what it brings along.
  /^\.\/node_modules\/(@temporalio\/(workflow|common)|nexus-rpc|ms|long)\//,
  // Places that the bundler left empty: converters that nobody configured.
  /^\?/,
];

test('the workflow bundle holds workflows and domain, and of packages the SDK alone', async () => {
  const { code } = await bundleWorkflowCode({
    workflowsPath: path.join(ROOT, 'src', 'workflows', 'index.ts'),
    logger: new DefaultLogger('ERROR'),
  });
  const modules = [...code.matchAll(MODULE_HEAD)].map(([, name = '']) => name);
  expect(modules).toContain('./src/workflows/delivery.ts');
  expect(modules.filter((name) => !ALLOWED.some((pattern) => pattern.test(name)))).toEqual([]);
});
