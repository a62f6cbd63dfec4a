/** The two example connectors as real processes, as their READMEs say to run them. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { HostIdentity } from '../../../src/hosts/kit/checks';
import { didOfKey } from '../../../src/signing/did-key';
import { sha256Hex } from '../../../src/hosts/protocol/jws';
import { openSqlite } from '../../../src/hosts/sqlite';
import { HostManifestSchema } from '../../../src/schemas/host-messages';
import { jsonOf } from '../../../src/schemas/json-bytes';
import { generateKeyText, importSigningKey } from '../../../src/signing/keys';
import { Folder } from '../../hosts/support/fixtures';
import { NodeProcess } from '../../support/node-process';
import { pythonProgram } from '../../support/python';

const ROOT = path.join(__dirname, '..', '..', '..');
const EXAMPLES = path.join(ROOT, 'examples');
const run = promisify(execFile);
const START_MS = 20_000;

export interface Example {
  readonly language: 'TypeScript' | 'Python';
  readonly connectorId: string;
  /** Its capability with one effect. */
  readonly capability: string;
  /** Effects at its product for this action. */
  effects(folder: Folder, action: string): Promise<number>;
  /** What starts it, and variables of its own: how long its product takes to answer. */
  command(
    folder: Folder,
    latencyMs: number,
  ): Promise<{ readonly program: string; readonly args: string[]; readonly env: Variables }>;
}
type Variables = Readonly<Record<string, string>>;

export const TYPESCRIPT: Example = {
  language: 'TypeScript',
  connectorId: 'notes',
  capability: 'notes.add',
  effects: async (folder, action) => {
    const text = await readFile(folder.file('notes.jsonl'), 'utf8').catch(() => '');
    return text.split('\n').filter((line) => line.includes(`"${action}"`)).length;
  },
  command: async (folder, latencyMs) => {
    await builtTypescript();
    return {
      program: process.execPath,
      args: [path.join(EXAMPLES, 'typescript-connector', 'dist', 'main.js')],
      env: { NOTES_FILE: folder.file('notes.jsonl'), NOTES_LATENCY_MS: String(latencyMs) },
    };
  },
};

export const PYTHON: Example = {
  language: 'Python',
  connectorId: 'board',
  capability: 'messages.post',
  effects: (folder, action) => {
    const db = openSqlite(folder.file('board.sqlite'), { busyTimeoutMs: 5_000 });
    try {
      // As the product makes it.
      db.exec('create table if not exists messages (id integer primary key, reference, text)');
      const found = db.prepare('select id from messages where reference = ?').all(action);
      return Promise.resolve(found.length);
    } finally {
      db.close();
    }
  },
  command: async (folder, latencyMs) => ({
    program: await pythonProgram('python'),
    args: ['-B', path.join(EXAMPLES, 'python-connector', 'main.py')],
    env: { BOARD_FILE: folder.file('board.sqlite'), BOARD_LATENCY_MS: String(latencyMs) },
  }),
};

let building: Promise<unknown> | undefined;

/** Compiled as an author compiles it, which also checks its types against the package's own. */
function builtTypescript(): Promise<unknown> {
  const tsc = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const project = path.join(EXAMPLES, 'typescript-connector');
  building ??= run(process.execPath, [tsc, '-p', project]).catch((error: unknown) => {
    const { stdout } = error as { stdout?: string };
    throw new Error(`the example does not compile:\n${stdout ?? ''}`, { cause: error });
  });
  return building;
}

/** One replica of an example: its key, its folder, and its process while it runs. */
export class ExampleHost {
  readonly folder = new Folder();
  readonly identity: Omit<HostIdentity, 'connectorId'>;
  readonly #example: Example;
  readonly #keyText: string;
  readonly did: string;
  #process: NodeProcess | undefined;
  url = '';
  manifestDigest = '';
  storeEpoch = '';

  private constructor(parts: {
    readonly example: Example;
    readonly identity: Omit<HostIdentity, 'connectorId'>;
    readonly keyText: string;
    readonly did: string;
  }) {
    this.#example = parts.example;
    this.identity = parts.identity;
    this.#keyText = parts.keyText;
    this.did = parts.did;
  }

  static async describe(
    example: Example,
    identity: Omit<HostIdentity, 'connectorId'>,
  ): Promise<ExampleHost> {
    const keyText = await generateKeyText();
    const did = didOfKey((await importSigningKey(keyText)).publicJwk.x);
    return new ExampleHost({ example, identity, keyText, did });
  }

  /**
   * Starts it and waits until it serves.
   * @param lifecycle the lifecycle service to register with
   */
  async start(
    { lifecycle }: { readonly lifecycle: string },
    more: { readonly port?: number; readonly latencyMs?: number; readonly store?: string } = {},
  ): Promise<void> {
    const { port = 0, latencyMs = 0, store = 'host.sqlite' } = more;
    const { program, args, env } = await this.#example.command(this.folder, latencyMs);
    const process = new NodeProcess(args, {
      cwd: this.folder.path,
      program,
      env: {
        ...env,
        WAYBILL_HOST_REPLICA: this.identity.replicaId,
        WAYBILL_HOST_TENANT: this.identity.tenantId,
        WAYBILL_HOST_INSTANCE: this.identity.instanceId,
        WAYBILL_HOST_CREDENTIALS: this.identity.credentialRevisions.join(','),
        WAYBILL_HOST_KEY: 'env:EXAMPLE_KEY',
        EXAMPLE_KEY: this.#keyText,
        WAYBILL_HOST_STORE: this.folder.file(store),
        WAYBILL_HOST_LISTEN: `127.0.0.1:${String(port)}`,
        WAYBILL_HOST_HEARTBEAT: '500ms',
        WAYBILL_SHUTDOWN_GRACE: '10s',
        WAYBILL_HOST_LIFECYCLE_URL: lifecycle,
      },
    });
    this.#process = process;
    const line = await process.line('its first line', (said) => 'manifestDigest' in said, START_MS);
    this.url = String(line['url']);
    this.manifestDigest = String(line['manifestDigest']);
    this.storeEpoch = String(line['storeEpoch']);
  }

  effects(action: string): Promise<number> {
    return this.#example.effects(this.folder, action);
  }

  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  /** An orderly end: SIGTERM. */
  async stop(): Promise<void> {
    await this.#process?.stop();
  }

  async remove(): Promise<void> {
    await this.kill();
    this.folder.remove();
  }
}

/** The manifest as it will be served, and its digest, before anything runs. */
export async function committedManifest(example: Example, folder: Folder) {
  const { program, args } = await example.command(folder, 0);
  const bytes =
    example === PYTHON
      ? await readFile(path.join(EXAMPLES, 'python-connector', 'manifest.json'))
      : Buffer.from((await run(program, [...args, '--manifest'])).stdout);
  return { manifest: HostManifestSchema.parse(jsonOf(bytes)), digest: sha256Hex(bytes) };
}

/** What a running example serves. */
export async function servedManifest(url: string) {
  const bytes = Buffer.from(await (await fetch(`${url}/v1/manifest`)).arrayBuffer());
  return { manifest: HostManifestSchema.parse(jsonOf(bytes)), digest: sha256Hex(bytes) };
}
