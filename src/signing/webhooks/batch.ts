/** Vendors that sign every item of a batch: each has a signature of its own, and all must be right. */
import type { Unverified } from '../../domain/verification';
import { textAt, valueAt } from './payload';
import { refuse } from './refusals';
import { maxSignatures, readSignatures, type SignatureReader } from './signature-field';
import type { RequestView } from './view';

export interface SignedItem {
  readonly item: unknown;
  readonly signatures: readonly Uint8Array[];
}

export interface SignedItems {
  readonly ok: true;
  readonly items: readonly SignedItem[];
}

/**
 * The items of a body and their signatures. The path of the signature names one item by its place in
 * the list, as in `list.0.entry.extra.signature`: it is read of every place. What is signed is the
 * object two names above the signature.
 */
export function signedItems(reader: SignatureReader, view: RequestView): SignedItems | Unverified {
  const { list, rest } = splitPath(reader.field.name);
  const found: unknown =
    list === null ? [view.json] : list === '' ? view.json : valueAt(view.json, list);
  if (!Array.isArray(found) || found.length === 0) {
    return refuse('missing_signature', 'the body holds no signed items');
  }
  if (found.length > maxSignatures) {
    return refuse('too_many_signatures', `the body has more than ${maxSignatures} items`);
  }
  const items: SignedItem[] = [];
  for (const [index, entry] of (found as readonly unknown[]).entries()) {
    const text = textAt(entry, rest);
    if (text === null)
      return refuse('missing_signature', `item ${index} of the body has no signature`);
    const listed = readSignatures(reader, text);
    if (!listed.ok) return { ...listed, detail: `item ${index}: ${listed.detail}` };
    const above = rest.split('.').slice(0, -2).join('.');
    const item = above === '' ? entry : valueAt(entry, above);
    items.push({ item, signatures: listed.signatures });
  }
  return { ok: true, items };
}

function splitPath(path: string): { readonly list: string | null; readonly rest: string } {
  const names = path.split('.');
  const at = names.findIndex((name) => /^\d+$/.test(name));
  if (at < 0) return { list: null, rest: path };
  return { list: names.slice(0, at).join('.'), rest: names.slice(at + 1).join('.') };
}
