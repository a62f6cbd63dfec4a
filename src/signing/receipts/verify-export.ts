/**
 * Checks a tenant's export of receipts offline, with the public keys alone (docs/architecture,
 * "Checkpoints"): every chain, every checkpoint, and that nothing was altered, left out, cut, moved or
 * added. Each fault names its line, and where it can its chain and the receipt in it.
 */
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import type { ChainHead, ExportPayload } from '../../domain/checkpoints';
import {
  parseExportLine,
  type ChainLine,
  type ExportLine,
  type HeadsLine,
} from '../../schemas/receipt-exports';
import { CheckpointCheck } from './checkpoint-check';
import { ExportProblems, type ExportProblem } from './export-problems';
import { MerkleRoot } from './merkle';
import { readSigned, type KeyLookup, type SignedForm } from './read-signed';
import { receiptDigest } from './sign';
import { ExportPayloadSchema, exportType, leafOf } from './statements';
import { chainProblems } from './verify-chain';

export interface ExportVerdict {
  readonly ok: boolean;
  readonly tenant: string | null;
  readonly chains: number;
  readonly receipts: number;
  readonly checkpoints: number;
  /** At most as many as are told; `more`: there are others. */
  readonly problems: readonly ExportProblem[];
  readonly more: boolean;
}

const STATEMENT: SignedForm<ExportPayload> = {
  type: exportType,
  schema: ExportPayloadSchema,
  name: 'the statement of an export',
};

/**
 * Never throws for any text among the lines; throws where the key set itself is none.
 *
 * @param lines of the export, without their ends
 */
export async function verifyExport(
  lines: Iterable<string> | AsyncIterable<string>,
  jwks: JSONWebKeySet,
): Promise<ExportVerdict> {
  const check = new ExportCheck(createLocalJWKSet(jwks));
  for await (const text of lines) if (text.trim() !== '') await check.line(text);
  return check.end();
}

class ExportCheck {
  readonly #keys: KeyLookup;
  readonly #problems = new ExportProblems();
  readonly #checkpoints: CheckpointCheck;
  readonly #tree = new MerkleRoot();
  /** The digests of each chain's receipts, in their order. */
  readonly #chains = new Map<string, readonly string[]>();
  /** Chains since the last line of heads. */
  #block: string[] = [];
  #heads = 0;
  #lists = 0;
  #emptyLists = 0;
  #receipts = 0;
  #statement: ExportPayload | null = null;
  #isOver = false;
  #tenant: string | null = null;

  constructor(keys: KeyLookup) {
    this.#keys = keys;
    this.#checkpoints = new CheckpointCheck(keys, this.#problems);
  }

  async line(text: string): Promise<void> {
    this.#problems.line += 1;
    const line = parseExportLine(text);
    if (line === null) {
      this.#problems.add('malformed_line', 'this is no line of an export');
      return;
    }
    if (this.#isOver) this.#problems.add('out_of_place', 'something follows the statement');
    await this.#take(line);
  }

  async #take(line: ExportLine): Promise<void> {
    switch (line.kind) {
      case 'checkpoint':
        if (this.#block.length > 0) this.#outOfPlace('a checkpoint stands among chains');
        await this.#checkpoints.take(line, this.#chains.size + this.#lists === 0);
        return;
      case 'chain':
        await this.#chain(line);
        return;
      case 'heads':
        this.#compare(line);
        return;
      case 'statement':
        await this.#end(line.statement);
    }
  }

  async #chain({ chain: subject, receipts }: ChainLine): Promise<void> {
    this.#receipts += receipts.length;
    if (this.#chains.has(subject)) {
      this.#problems.add('out_of_place', 'the chain stands here twice', { subject });
    }
    if (this.#checkpoints.isBeyondChains) this.#outOfPlace('a chain stands after the chains');
    this.#chains.set(subject, receipts.map(receiptDigest));
    this.#block.push(subject);
    const tenant = this.#tenant ?? this.#checkpoints.tenant ?? tenantOf(receipts);
    this.#tenant = tenant;
    const owner = tenant === null ? null : { tenant, subject };
    for (const { index, code, detail } of await chainProblems(receipts, this.#keys, owner)) {
      this.#problems.add(code, detail, { subject, seq: index + 1 });
    }
  }

  /** The chains since the last such line are these, in this order, and go so far. */
  #compare({ heads }: HeadsLine): void {
    const block = this.#block;
    this.#block = [];
    this.#lists += 1;
    if (heads.length === 0) this.#emptyLists += 1;
    this.#heads += heads.length;
    for (const head of heads) this.#tree.add(leafOf(head));
    const listed = new Set(heads.map(({ subject }) => subject));
    const present = new Set(block);
    for (const head of heads) this.#compareHead(head, present.has(head.subject));
    for (const subject of block) {
      if (listed.has(subject)) continue;
      this.#problems.add('unlisted_chain', 'the export does not list it', { subject });
    }
    const inOrder = heads.filter(({ subject }) => present.has(subject));
    const moved = inOrder.find(({ subject }, index) => {
      return block.filter((one) => listed.has(one))[index] !== subject;
    });
    if (moved === undefined) return;
    this.#problems.add('out_of_place', 'chains were reordered', { subject: moved.subject });
  }

  #compareHead({ subject, seq, digest }: ChainHead, isPresent: boolean): void {
    if (!isPresent) {
      this.#problems.add('missing_chain', 'the chain is missing', { subject });
      return;
    }
    const digests = this.#chains.get(subject) ?? [];
    if (digests.length !== seq) {
      const detail = `it has ${digests.length} receipts; it had ${seq}`;
      this.#problems.add('chain_cut', detail, { subject, seq: digests.length });
    } else if (digests.at(-1) !== digest) {
      const detail = 'its last receipt is not the one that is listed';
      this.#problems.add('chain_replaced', detail, { subject, seq });
    }
  }

  async #end(jws: string): Promise<void> {
    this.#isOver = true;
    const reading = await readSigned(jws, this.#keys, STATEMENT);
    if (!reading.ok) {
      this.#problems.add(reading.code, `the statement: ${reading.detail}`);
      return;
    }
    this.#statement = reading.payload;
  }

  #outOfPlace(detail: string): void {
    this.#problems.add('out_of_place', detail);
  }

  end(): ExportVerdict {
    const statement = this.#statement;
    if (this.#block.length > 0) this.#outOfPlace('the chains at its end are not listed');
    if (statement === null && !this.#isOver) {
      this.#problems.add('no_statement', 'the export has no signed statement: it was cut');
    }
    if (statement !== null) this.#compareStatement(statement);
    this.#checkpoints.end(this.#chains, statement);
    return {
      ok: this.#problems.all.length === 0,
      tenant: statement?.tenant ?? this.#tenant,
      chains: this.#chains.size,
      receipts: this.#receipts,
      checkpoints: this.#checkpoints.count,
      problems: this.#problems.all,
      more: this.#problems.more,
    };
  }

  #compareStatement({ tenant, chains, root }: ExportPayload): void {
    // One that lists nothing stands in an export without chains alone.
    if (this.#lists === 0 || (this.#emptyLists > 0 && this.#lists > 1)) {
      this.#problems.add('list_altered', 'the list of its chains is missing or not the only one');
    }
    if (chains !== this.#heads || root !== this.#tree.root()) {
      const detail = `its list of ${this.#heads} chains is not the one of the statement (${chains})`;
      this.#problems.add('list_altered', detail);
    }
    const told = this.#tenant ?? this.#checkpoints.tenant ?? tenant;
    if (told !== tenant) {
      this.#problems.add('other_tenant', `the statement is of tenant ${tenant}, not ${told}`);
    }
  }
}

/** As the first receipt says, unchecked; the chain's own check holds the others against it. */
function tenantOf(receipts: readonly string[]): string | null {
  try {
    const payload = Buffer.from(receipts[0]?.split('.')[1] ?? '', 'base64url').toString('utf8');
    const { tenant } = JSON.parse(payload) as { readonly tenant?: unknown };
    return typeof tenant === 'string' ? tenant : null;
  } catch {
    return null;
  }
}
