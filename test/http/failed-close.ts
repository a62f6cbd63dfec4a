/** How an attempt ends that fails for good. */
export const FAILED_CLOSE = {
  outcome: 'refused',
  reason: 'permanent_refusal',
  detail: 'the target answered 404',
  status: 404,
  durationMs: 12,
  answerSha256: 'a'.repeat(64),
  answerHead: 'no such hook',
  decision: 'failed',
  delayMs: null,
  pauseSubscription: false,
  targetHealth: null,
} as const;
