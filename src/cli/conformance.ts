/** `waybill conformance`: the suite against a host of one's own, with no server of Waybill's. */
import type { Command } from 'commander';
import type { ConformanceOptions } from './conformance/options';

export function addConformance(program: Command): void {
  program
    .command('conformance')
    .description(
      'Try a connector host: every rule of the host protocol as a case. It registers here as with ' +
        'Waybill, so it needs no change: start this first, then the host with --listen as its ' +
        'lifecycle URL.',
    )
    .requiredOption('--endpoint <url>', 'where the host serves')
    .requiredOption('--tenant <id>', "the host's tenant")
    .requiredOption('--instance <id>', "the host's instance")
    .requiredOption('--credential <revision>', 'a credential revision that the host may use')
    .option('--listen <address>', 'where the host registers, host:port', '127.0.0.1:7380')
    .option('--audience <text>', 'aud of its lifecycle calls', 'urn:waybill:lifecycle')
    .option('--did <did>', "the host's DID (default: of whichever registers first)")
    .option('--cases <file>', 'JSON: {capability: {valid: […], invalid: […], slow: …}}')
    .option('--scheme <scheme>', "the connector's webhook scheme: a shipped one, or a file")
    .option('--vectors <file>', 'requests for that scheme, as `waybill scheme test` takes them')
    .option('--host-pid <pid>', 'process of the host: it is asked to end at last, to see it drain')
    .option('--wait <duration>', 'how long the host is waited for', '60s')
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nWhat the cases do, they do at the provider: use a sandbox.\n' +
        'Exit code: 0 when every case that could be tried passes, 1 when one does not.\n' +
        '\nExample:\n' +
        '  $ waybill conformance --endpoint http://127.0.0.1:7390 --tenant acme \\\n' +
        '      --instance acme-tickets --credential 7 --cases conformance.json\n',
    )
    .action(conformance);
}

async function conformance(options: ConformanceOptions): Promise<void> {
  const { tryHost } = await import('./conformance/try-host.js');
  const { printReport } = await import('./conformance/report.js');
  const report = await tryHost(options, (line) => {
    process.stderr.write(`${line}\n`);
  });
  printReport(report, options.json ?? false);
}
