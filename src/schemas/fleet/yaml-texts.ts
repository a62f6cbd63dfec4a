/** Documents as the text of a fleet file. */
import { stringify } from 'yaml';
import type { WrittenDocument } from './written-documents';

/** One value, one text: nothing is folded, no anchors, and strings only in quotes or plain. */
const OPTIONS = { lineWidth: 0, blockQuote: false, aliasDuplicateObjects: false } as const;

/** The documents one after another; a field that is undefined is left out of its document. */
export function fleetText(documents: readonly WrittenDocument[]): string {
  return documents.map((document) => stringify(document, OPTIONS)).join('---\n');
}
