/** `waybill deliver`: sends one thing through a connection, waits for it, and prints its receipt. */
import { readFileSync } from 'node:fs';
import { InvalidArgumentError, type Command } from 'commander';
import type { z } from 'zod';
import { MAX_DELIVER_WAIT_MS } from '../domain/sending';
import type { Delivered, DeliverBody } from '../schemas/api-deliver';
import { openApi, withApiOptions, type ApiOptions } from './support/api-access';
import type { ApiClient } from './support/api-client';
import { CommandFailure } from './support/failures';
import { parseDuration } from './support/instants';
import { parseJsonArgument, type GivenJson } from './support/json-argument';
import { printJson, printLine } from './support/output';

interface DeliverOptions extends ApiOptions {
  readonly connection: string;
  readonly key: string;
  readonly payload?: GivenJson;
  readonly bytes?: Buffer;
  readonly contentType?: string;
  readonly attempts?: number;
  readonly deadline?: number;
  readonly policyDecision?: string;
  readonly policy?: string;
  readonly approval?: string;
  /** Milliseconds. */
  readonly wait: number;
  readonly json?: true;
}

export function addDeliver(program: Command): void {
  withApiOptions(
    program
      .command('deliver')
      .description('Send through a connection; the same key and request is the same delivery.')
      .argument('<connector>', 'the connector')
      .argument('<operation>', 'an operation that its version declares')
      .requiredOption('--connection <id>', 'the instance that it is sent through')
      .requiredOption('--key <key>', 'the idempotency key, which you choose')
      .option('--payload <file|json>', 'the payload: JSON, or a file of it', parseJsonArgument)
      .option('--bytes <file>', 'or a file whose very bytes are sent', parseBytes)
      .option('--content-type <type>', 'of the bytes')
      .option('--attempts <count>', 'at most so many attempts', parseCount)
      .option('--deadline <time>', 'no attempt begins later than so long from now', parseDuration)
      .option('--policy-decision <id>', 'a decision that allows it, of the class external')
      .option('--policy <name>', 'the policy of the decision, and its revision')
      .option('--approval <token>', 'an approval token, of the class external')
      .option('--wait <time>', 'how long to wait for its end (default: 10s)', parseDuration, 10_000)
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nExits 1 unless the vendor has taken it by then.\n' +
        '\nExample:\n' +
        `  $ waybill deliver chat messages.send --connection team-chat --key note-1138 --payload '{"text":"Hi"}'\n`,
    )
    .action(deliver);
}

function parseBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    throw new InvalidArgumentError('It is no file that can be read.');
  }
}

function parseCount(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Write a whole number.');
}

async function deliver(
  connector: string,
  operation: string,
  options: DeliverOptions,
): Promise<void> {
  const { payload, bytes, contentType, attempts, deadline, approval } = options;
  const { policyDecision, policy } = options;
  const body = {
    ...{ connector, operation, connectionId: options.connection },
    ...(payload === undefined ? {} : { payload: payload.value as never }),
    ...(bytes === undefined ? {} : { payloadBase64: bytes.toString('base64') }),
    ...(contentType === undefined ? {} : { contentType }),
    budget: {
      ...(attempts === undefined ? {} : { attempts }),
      ...(deadline === undefined ? {} : { deadlineMs: deadline }),
    },
    ...(policyDecision === undefined
      ? {}
      : {
          policyDecision: {
            ...({ id: policyDecision, outcome: 'allow' } as const),
            ...(policy === undefined ? {} : { policy }),
          },
        }),
    ...(approval === undefined ? {} : { approval }),
  };
  const api = await openApi(options);
  const delivery = await sendAndWait(api, { key: options.key, body, waitMs: options.wait });
  if (options.json) printJson(delivery);
  if (delivery.state !== 'Acknowledged') throw notTaken(delivery);
  if (!options.json) tell(delivery);
}

/** The API waits a bounded time a call; the same call again goes on waiting. */
async function sendAndWait(
  api: ApiClient,
  call: {
    readonly key: string;
    readonly body: z.input<typeof DeliverBody>;
    readonly waitMs: number;
  },
): Promise<Delivered> {
  const begunAt = performance.now();
  for (;;) {
    const leftMs = Math.max(0, Math.ceil(begunAt + call.waitMs - performance.now()));
    const waitMs = Math.min(leftMs, MAX_DELIVER_WAIT_MS);
    const delivery = await api.deliver(call.key, { ...call.body, waitMs });
    if (delivery.settledAt !== null || leftMs <= MAX_DELIVER_WAIT_MS) return delivery;
  }
}

function notTaken({ deliveryId, state, reason, detail, uncertain }: Delivered): CommandFailure {
  const why = [reason ?? '', detail ?? ''].filter((part) => part !== '').join(', ');
  const doubt = uncertain ? '; it may have had its effect' : '';
  const message = `${deliveryId} is ${state}${why === '' ? '' : `: ${why}`}${doubt}`;
  return new CommandFailure('delivery_not_acknowledged', message);
}

function tell({ deliveryId, status, receipt }: Delivered): void {
  const answered = status === null ? '' : `: the vendor answered ${status}`;
  printLine(`${deliveryId} is Acknowledged${answered}`);
  printLine(`receipt ${receipt?.ref ?? '-'}`);
  printLine(receipt?.jws ?? '');
}
