/**
 * The Merkle tree of RFC 6962, section 2.1: leaves and nodes are hashed in domains of their own, so that
 * neither passes for the other.
 */
import { createHash } from 'node:crypto';

const LEAF = Buffer.of(0);
const NODE = Buffer.of(1);

/** A root over leaves that come one by one; holds no more than one hash a level. */
export class MerkleRoot {
  /** Roots of whole subtrees, the largest one first; `size` is a power of two. */
  readonly #subtrees: { readonly size: number; readonly hash: Buffer }[] = [];

  add(leaf: Uint8Array): void {
    let node = { size: 1, hash: hashOf(LEAF, leaf) };
    for (let last = this.#subtrees.at(-1); last?.size === node.size; last = this.#subtrees.at(-1)) {
      this.#subtrees.pop();
      node = { size: node.size * 2, hash: hashOf(NODE, last.hash, node.hash) };
    }
    this.#subtrees.push(node);
  }

  /** Lower-case hex. */
  root(): string {
    const right = this.#subtrees.at(-1);
    if (right === undefined) return createHash('sha256').digest('hex');
    return this.#subtrees
      .slice(0, -1)
      .reduceRight((hash, left) => hashOf(NODE, left.hash, hash), right.hash)
      .toString('hex');
  }
}

function hashOf(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}
