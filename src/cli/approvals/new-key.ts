/** `waybill approvals new-key`: an approver's key. */
import type { Command } from 'commander';

export function addNewKey(approvals: Command): void {
  approvals
    .command('new-key')
    .description("Make an approver's private key; print its did:key for trustedApprovers.")
    .argument('<file>', 'where the private key goes; a file that is there is left alone')
    .addHelpText('after', '\nExample:\n  $ waybill approvals new-key kate.jwk\n')
    .action(async (file: string) => {
      const { didOfKey } = await import('../../signing/did-key.js');
      const { makeKey } = await import('../support/keys.js');
      const { printLine } = await import('../support/output.js');
      printLine(didOfKey((await makeKey(file, 'file')).x));
    });
}
