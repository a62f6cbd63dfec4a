/**
 * The search attributes and the sentence by which people find and read a waiting workflow. Each
 * change costs a history event, so they are written only on entering or leaving a waiting state.
 */
import { defineSearchAttributeKey } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';

const STATE = defineSearchAttributeKey('WaybillState', 'KEYWORD');
const CONNECTOR = defineSearchAttributeKey('WaybillConnector', 'KEYWORD');
const WAITING_SINCE = defineSearchAttributeKey('WaybillWaitingSince', 'DATETIME');

export class WaitingMark {
  readonly #first: string;
  #connector: string | null = null;
  /** What the attributes say; null: nothing, it has never waited. */
  #shown = carried();

  /** @param first the state in which the workflow begins */
  constructor(first: string) {
    this.#first = first;
  }

  /** Shown from the next wait on; a workflow that knows it from its start need not say it. */
  set connector(connectorId: string | null) {
    this.#connector = connectorId ?? this.#connector;
  }

  /** Waits in `state`; the sentence may change while the state stays. */
  enter(state: string, details: string): void {
    setCurrentDetails(details);
    if (this.#shown?.state === state && this.#shown.waits) return;
    this.#shown = { state, waits: true };
    upsertSearchAttributes([
      { key: STATE, value: state },
      { key: WAITING_SINCE, value: new Date() },
      ...(this.#connector === null ? [] : [{ key: CONNECTOR, value: this.#connector }]),
    ]);
  }

  /** Waits in the state last known. */
  stay(details: string): void {
    this.enter(this.#shown?.state ?? this.#first, details);
  }

  /** Moves again, or has ended in `state`. Costs nothing when it never waited. */
  leave(state: string): void {
    setCurrentDetails('');
    if (this.#shown === null || (this.#shown.state === state && !this.#shown.waits)) return;
    this.#shown = { state, waits: false };
    upsertSearchAttributes([
      { key: STATE, value: state },
      { key: WAITING_SINCE, value: null },
    ]);
  }
}

/** A run that goes on for another one has its attributes, too. */
function carried(): { readonly state: string; readonly waits: boolean } | null {
  const { continuedFromExecutionRunId, typedSearchAttributes } = workflowInfo();
  if (continuedFromExecutionRunId === undefined) return null;
  const state = typedSearchAttributes.get(STATE);
  if (state === undefined) return null;
  return { state, waits: typedSearchAttributes.get(WAITING_SINCE) !== undefined };
}
