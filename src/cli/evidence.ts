/** `waybill evidence`: what vouches for connector versions. */
import type { Command } from 'commander';
import { addNewKey } from './evidence/new-key';
import { addSign } from './evidence/sign';

export function addEvidence(program: Command): void {
  const evidence = program
    .command('evidence')
    .description('Sign statements that vouch for connector versions.')
    .helpCommand(false)
    .addHelpText('after', '\nExample:\n  $ waybill evidence new-key release.jwk\n');
  addNewKey(evidence);
  addSign(evidence);
}
