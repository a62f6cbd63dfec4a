/** `waybill actions start`: starts an action, and waits for its end where that is asked for. */
import { InvalidArgumentError, type Command } from 'commander';
import type { z } from 'zod';
import { WaybillError } from '../../domain/errors';
import { PolicyDecision } from '../../schemas/api-approvals';
import { MAX_WAIT_MS, type Action, type StartActionBody } from '../../schemas/api-actions';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import type { ApiClient } from '../support/api-client';
import { waitsForAction } from '../support/action-waiting';
import { CommandFailure } from '../support/failures';
import { parseDuration } from '../support/instants';
import { parseJsonArgument, type GivenJson } from '../support/json-argument';
import { printJson, printLine } from '../support/output';

interface StartOptions extends ApiOptions {
  readonly id: string;
  readonly request: GivenJson;
  readonly affinity?: string;
  readonly deadline?: number;
  readonly retries?: number;
  readonly ifCatalogRevision?: number;
  readonly approval?: string;
  readonly awaitApproval: boolean;
  readonly policyDecision?: GivenJson;
  readonly wait?: number;
  readonly json?: true;
}

export function addStart(actions: Command): void {
  withApiOptions(
    actions
      .command('start')
      .description('Start an action; the same call again is the same action.')
      .argument('<capability>', 'the capability id')
      .requiredOption('--id <action>', 'the id of the action, which you choose')
      .requiredOption(
        '--request <file|json>',
        'the request: JSON, or a file of it',
        parseJsonArgument,
      )
      .option('--affinity <key>', 'keep to the account that others of this key went to')
      .option('--deadline <time>', 'how long it may take in all (default: 1h)', parseDuration)
      .option('--retries <count>', 'attempts after the first (default: 5)', parseCount)
      .option(
        '--if-catalog-revision <revision>',
        'only while the catalog is at this revision, that of a verified plan',
        parseRevision,
      )
      .option('--approval <token>', 'a signed approval; see `waybill approvals sign`')
      .option('--no-await-approval', 'refuse it where it needs an approval and carries none')
      .option(
        '--policy-decision <json>',
        'what your policy has said, for the record: {"id", "decision", "policy"}, or a file of it',
        parseJsonArgument,
      )
      .option('--wait <time>', 'wait for its end; exit 1 unless it completes', parseDuration)
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nExample:\n' +
        `  $ waybill actions start tickets.create --id order-1138 --request '{"title":"Hi"}' --wait 30s\n`,
    )
    .action(start);
}

function policyDecisionOf({
  policyDecision,
}: StartOptions): z.input<typeof StartActionBody>['policyDecision'] {
  if (policyDecision === undefined) return undefined;
  const given = PolicyDecision.safeParse(policyDecision.value);
  if (given.success) return given.data;
  const [issue] = given.error.issues;
  const where = ['--policy-decision', ...(issue?.path ?? [])].join('.');
  throw new WaybillError('config_invalid', `${where}: ${issue?.message ?? 'is wrong'}`, {
    field: '--policy-decision',
  });
}

function parseCount(text: string): number {
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Write a whole number.');
}

function parseRevision(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Write a whole number.');
}

async function start(capabilityId: string, options: StartOptions): Promise<void> {
  const api = await openApi(options);
  const body = {
    capabilityId,
    request: options.request.value,
    affinityKey: options.affinity,
    deadlineMs: options.deadline,
    retryBudget: options.retries,
    ifCatalogRevision: options.ifCatalogRevision,
    ...{ approval: options.approval, awaitApproval: options.awaitApproval },
    policyDecision: policyDecisionOf(options),
  };
  const action = await startAndWait(api, { id: options.id, body, waitMs: options.wait ?? 0 });
  if (options.json) printJson(action);
  if (options.wait !== undefined && action.state !== 'completed') throw notCompleted(action);
  if (!options.json) tell(action);
}

/** The API waits a bounded time a call; the same call again goes on waiting. */
async function startAndWait(
  api: ApiClient,
  call: {
    readonly id: string;
    readonly body: z.input<typeof StartActionBody>;
    readonly waitMs: number;
  },
): Promise<Action> {
  const begunAt = performance.now();
  for (;;) {
    const leftMs = Math.max(0, Math.ceil(begunAt + call.waitMs - performance.now()));
    const waitMs = Math.min(leftMs, MAX_WAIT_MS);
    const action = await api.startAction(call.id, call.body, waitMs);
    if (action.closedAt !== null || leftMs <= MAX_WAIT_MS) return action;
  }
}

function notCompleted(action: Action): CommandFailure {
  const { actionId, state, result } = action;
  const code = result?.errorCode;
  const why =
    action.closedAt === null
      ? `it waits for ${waitsForAction(action)}`
      : [code ?? '', action.reason ?? '', action.detail ?? '']
          .filter((part) => part !== '')
          .join(', ');
  const message = `${actionId} is ${state}${why === '' ? '' : `: ${why}`}`;
  return new CommandFailure('action_not_completed', message);
}

function tell({ actionId, state, result }: Action): void {
  printLine(`${actionId} is ${state}`);
  if (result !== null && result.resultSha256 !== null) printJson(result.result);
  else printLine(`see \`waybill actions show ${actionId}\``);
}
