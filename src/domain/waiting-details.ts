/**
 * What actions and deliveries alike say of themselves in the Temporal UI. Markdown; no payload, no
 * secret, no address.
 */

const STEPS = {
  action: { blocked: 'decided', step: 'A step' },
  delivery: { blocked: 'attempted', step: 'The attempt' },
  replay: { blocked: 'replayed', step: 'A batch' },
} as const;

export function troubleDetails(
  of: keyof typeof STEPS,
  trouble: { readonly code: string; readonly message: string },
  retryInMs: number,
): string {
  const { blocked, step } = STEPS[of];
  const what =
    trouble.code === 'storage_unavailable'
      ? `**Postgres does not answer**, so nothing can be ${blocked}.`
      : `**${step} could not be made**: ${trouble.message} (\`${trouble.code}\`).`;
  return `${what} Looks again in ${retryInMs} ms. See the workers' log and their readiness.`;
}

/** What is shown after a signal was refused, above what was shown before. */
export function refusedDetails(what: 'replay' | 'signal', refusal: string, before: string): string {
  const rest = before.replace(/^\*\*The (?:replay|signal) was refused\*\*[^\n]*\n\n/, '');
  return `**The ${what} was refused**: ${refusal}.\n\n${rest}`;
}
