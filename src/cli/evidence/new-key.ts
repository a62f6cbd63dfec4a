/** `waybill evidence new-key`: a signer's key. */
import type { Command } from 'commander';

export function addNewKey(evidence: Command): void {
  evidence
    .command('new-key')
    .description("Make a signer's private key; print its public half for trustedSigners.")
    .argument('<file>', 'where the private key goes; a file that is there is left alone')
    .addHelpText('after', '\nExample:\n  $ waybill evidence new-key release.jwk\n')
    .action(async (file: string) => {
      const { makeKey } = await import('../support/keys.js');
      const { printLine } = await import('../support/output.js');
      const { kty, crv, x } = await makeKey(file, 'file');
      printLine(JSON.stringify({ kty, crv, x }));
    });
}
