/** What judging a request works with, whatever the kind of its scheme. */
import type { Unverified } from '../../domain/verification';
import type { CompiledScheme } from './compile';
import type { WebhookSecret } from './secrets';
import { signaturesOf, type SignatureList } from './signature-field';
import type { RequestView } from './view';

/** Told what each step found, for a person; never a secret or a signature. */
export type Note = (step: string, found: string) => void;

export interface Judging {
  /** Receipt of the request, ms since the epoch: judges the secrets' windows. */
  readonly receivedAtMs: number;
  readonly note?: Note | undefined;
}

export interface Trying {
  readonly compiled: CompiledScheme;
  readonly view: RequestView;
  readonly secrets: readonly WebhookSecret[];
  readonly judging: Judging;
}

export function listedSignatures({ compiled, view, judging }: Trying): SignatureList | Unverified {
  const listed = signaturesOf(compiled.signatures, view);
  const { location, name } = compiled.scheme.signature;
  if (listed.ok) {
    judging.note?.('signature', `${location} ${name} lists ${listed.signatures.length}`);
  }
  return listed;
}
