/** `waybill plans verify`: judges a plan; exit 1 unless every step can be started. */
import { readFileSync } from 'node:fs';
import { InvalidArgumentError, type Command } from 'commander';
import { z } from 'zod';
import type { PlanAnswer } from '../../schemas/api-plans';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { CommandFailure } from '../support/failures';
import { printJson, printLine, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface VerifyOptions extends ApiOptions {
  readonly json?: true;
}

const STANDARD_INPUT = 0;

export function addVerify(plans: Command): void {
  withApiOptions(
    plans
      .command('verify')
      .description('Judge each step at one revision of the catalog; starts nothing.')
      .argument('<file>', 'the plan as JSON: {"steps": [...]}; - reads standard input', readPlan)
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nA step is {"stepId", "capabilityId", "request", "dependsOn": [stepId, ...]}.\n' +
        '\nExample:\n  $ waybill plans verify plan.json\n',
    )
    .action(verify);
}

function readPlan(file: string): Record<string, unknown> {
  try {
    const text = readFileSync(file === '-' ? STANDARD_INPUT : file, 'utf8');
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    throw new InvalidArgumentError('It is no file that holds a JSON object.');
  }
}

async function verify(plan: Record<string, unknown>, options: VerifyOptions): Promise<void> {
  const api = await openApi(options);
  const answer = await api.verifyPlan(plan);
  if (options.json) printJson(answer);
  else tell(answer);
  if (!answer.verified) throw notVerified(answer);
}

function tell({ steps, revision, verified }: PlanAnswer): void {
  printLine(renderTable(COLUMNS, steps, terminalWidth()));
  if (!verified) return;
  printLine(
    `\nverified at revision ${revision}: start its actions with --if-catalog-revision ${revision}`,
  );
}

function notVerified({ steps }: PlanAnswer): CommandFailure {
  const wrong = steps.filter((step) => verdictOf(step) !== 'fits');
  const named = wrong.slice(0, 5).map((step) => `${step.stepId}: ${verdictOf(step)}`);
  const more = wrong.length > named.length ? [`and ${wrong.length - named.length} more`] : [];
  return new CommandFailure('plan_not_verified', [...named, ...more].join('; '));
}

type Step = PlanAnswer['steps'][number];

function verdictOf({ visible, errors, capabilityId }: Step): string {
  if (!visible) return `the tenant cannot use ${capabilityId}`;
  return errors.length === 0 ? 'fits' : errors.map(({ message }) => message).join('; ');
}

const COLUMNS: readonly Column<Step>[] = [
  { title: 'step', value: (row) => row.stepId },
  { title: 'capability', value: (row) => row.capabilityId },
  { title: 'side effect', value: (row) => row.sideEffect ?? '-', optional: 2 },
  { title: 'approval', value: approvalText, optional: 1 },
  { title: 'verdict', value: verdictOf, wraps: true },
];

function approvalText({ approvalNeeded }: Step): string {
  if (approvalNeeded === null) return '-';
  return approvalNeeded ? 'needed' : 'no';
}
