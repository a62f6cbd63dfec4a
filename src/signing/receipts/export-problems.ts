/** What is wrong with an export, each fault with its place. */
import type { ReceiptProblemCode } from './verify-chain';

export type ExportProblemCode =
  | ReceiptProblemCode
  | 'malformed_line'
  | 'out_of_place'
  | 'missing_chain'
  | 'chain_cut'
  | 'chain_replaced'
  | 'unlisted_chain'
  | 'list_altered'
  | 'no_statement'
  | 'checkpoint_gap'
  | 'leaves_altered'
  | 'leaves_missing'
  | 'checkpoints_cut';

export interface ExportProblem {
  /** Of the file, from 1; where it was found. */
  readonly line: number;
  readonly code: ExportProblemCode;
  readonly detail: string;
  /** Whose chain; null: it is not about one. */
  readonly subject: string | null;
  /** Which receipt in the chain, from 1; null: it is not about one. */
  readonly seq: number | null;
  /** Which checkpoint; null: it is not about one. */
  readonly checkpoint: number | null;
}

/** More than that is one fault, not many. */
const MAX_PROBLEMS = 1_000;

export class ExportProblems {
  readonly all: ExportProblem[] = [];
  more = false;
  line = 0;

  add(
    code: ExportProblemCode,
    detail: string,
    about: Partial<Pick<ExportProblem, 'line' | 'subject' | 'seq' | 'checkpoint'>> = {},
  ): void {
    if (this.all.length === MAX_PROBLEMS) {
      this.more = true;
      return;
    }
    const nothing = { subject: null, seq: null, checkpoint: null };
    this.all.push({ line: this.line, code, detail, ...nothing, ...about });
  }
}
