/** `waybill qualify verify`: the evidence of a run, checked offline. */
import type { Command } from 'commander';

export function addVerifyEvidence(qualify: Command): void {
  qualify
    .command('verify')
    .description(
      'Check the evidence of a run without any server: nothing missing, altered or contradictory.',
    )
    .argument('<folder>', 'the folder that a run has left')
    .option(
      '--digest <sha256>',
      'what the run printed; without it whoever can write the folder can forge it',
    )
    .option('--json', 'answer as JSON')
    .addHelpText('after', '\nExample:\n  $ waybill qualify verify qualification-1 --digest 5f1c…\n')
    .action(verify);
}

async function verify(
  folder: string,
  { digest, json }: { readonly digest?: string; readonly json?: true },
): Promise<void> {
  const { verifyEvidence } = await import('../../qualification/verify/verify.js');
  const { CommandFailure } = await import('../support/failures.js');
  const { printJson, printLine } = await import('../support/output.js');
  const verdict = await verifyEvidence(folder, digest ?? null);
  if (json) printJson(verdict);
  else if (verdict.ok) printLine(`${verdict.plan} run, ${verdict.cases} cases: the evidence holds`);
  if (!verdict.ok) throw new CommandFailure('evidence_refused', verdict.problems.join('; '));
}
