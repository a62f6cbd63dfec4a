/** `waybill demo-receiver`: the target of the example fleet, started by `waybill up`. */
import type { Command } from 'commander';
import { runUntilAsked } from './support/long-running';

export function addDemoReceiver(program: Command): void {
  program
    .command('demo-receiver', { hidden: true })
    .description('Receive deliveries on loopback, record them, and answer as told.')
    .requiredOption('--port <port>', 'the port to listen on')
    .addHelpText(
      'after',
      '\nVerifies signatures with WAYBILL_EXAMPLE_TARGET_SECRET.\n' +
        '\nExample:\n  $ waybill demo-receiver --port 7300\n',
    )
    .action(receive);
}

async function receive({ port }: { readonly port: string }): Promise<void> {
  const { startReceiver } = await import('../demo/receiver.js');
  const secret = process.env['WAYBILL_EXAMPLE_TARGET_SECRET'] ?? '';
  await runUntilAsked(async () => {
    const receiver = await startReceiver({
      port: Number(port),
      secrets: secret === '' ? [] : [secret],
    });
    return { broken: new Promise<never>(() => undefined), stop: () => receiver.stop() };
  });
}
