import type { ApplicationFailure } from '@temporalio/workflow';

/** An activity that could not do its work (Postgres away, a defect); trying later may help. */
export interface Trouble {
  readonly kind: 'trouble';
  readonly code: string;
  readonly message: string;
}

export function troubleOf({ type, message }: ApplicationFailure): Trouble {
  return { kind: 'trouble', code: type ?? 'internal', message };
}
