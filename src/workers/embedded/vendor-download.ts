/**
 * A child program: lets the SDK download a Temporal CLI into a folder, without running it, and
 * reports `{}` or `{ reason }` to its parent. Arguments: folder, version (`v1.2.3`).
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Runtime } from '@temporalio/worker';

/**
 * The SDK only knows "download and start". Starting looks for a free port on its address first, and
 * no machine has this one (it is reserved for documentation): the executable is there then, and
 * has not run before its hash was checked.
 */
const NOBODYS_ADDRESS = '192.0.2.1';
const TEN_YEARS_MS = 315_360_000_000;

async function download(folder: string, version: string): Promise<string | undefined> {
  try {
    const server = await Runtime.instance().createEphemeralServer({
      type: 'dev-server',
      exe: {
        type: 'cached-download',
        downloadDir: folder,
        version,
        ttl: TEN_YEARS_MS,
        sdkName: 'sdk-typescript',
        sdkVersion: '1.24.0',
      },
      ip: NOBODYS_ADDRESS,
      port: null,
      ui: false,
      uiPort: null,
      namespace: 'default',
      dbFilename: null,
      log: { format: 'pretty', level: 'error' },
      extraArgs: [],
    });
    await Runtime.instance().shutdownEphemeralServer(server);
    return 'the SDK started it before its hash was checked';
  } catch (error) {
    if (existsSync(join(folder, `temporal-${version}`))) return undefined;
    return innermost(error instanceof Error ? error.message : String(error));
  }
}

/** The SDK nests its reasons with colons and repeats the address at each level; the end says why. */
function innermost(message: string): string {
  return message.split(': ').slice(-2).join(': ');
}

const [, , folder, version] = process.argv;
if (folder === undefined || version === undefined) throw new Error('needs a folder and a version');
void download(folder, version).then((reason) => {
  process.send?.(reason === undefined ? {} : { reason }, () => process.exit(0));
});
