/** `waybill certify`: puts a version to the conformance suite, and shows how far that is. */
import { access, constants, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { WaybillError } from '../domain/errors';
import type { Certification } from '../schemas/api-connectors';
import { openApi, withApiOptions, type ApiOptions } from './support/api-access';
import type { ApiClient } from './support/api-client';
import { CommandFailure } from './support/failures';
import { printJson, printLine } from './support/output';
import { page } from './support/sections';

interface CertifyOptions extends ApiOptions {
  readonly connectorVersion: string;
  readonly instance: string;
  readonly credential?: string;
  readonly cases?: string;
  readonly vectors?: string;
  readonly report?: string;
  readonly wait: boolean;
  readonly json?: true;
}

const LOOK_MS = 500;

export function addCertify(program: Command): void {
  withApiOptions(
    program
      .command('certify')
      .description(
        'Have a connector version certified: the conformance suite against the host of a sandbox ' +
          'instance, whose provider it has effects at. What has passed stays so.',
      )
      .argument('<connector>', 'the connector id')
      .requiredOption('--connector-version <version>', 'which version')
      .requiredOption('--instance <id>', 'the sandbox: an enabled instance of this version')
      .option('--credential <revision>', 'a credential revision of it (default: its newest)')
      .option('--cases <file>', 'JSON: {capability: {valid: […], invalid: […], slow: …}}')
      .option('--vectors <file>', 'requests for its webhook scheme, as `waybill scheme test`')
      .option(
        '--report <file>',
        'where to write the report that its evidence is about, once passed',
      )
      .option('--no-wait', 'only start it')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nExit code: 0 when it is certified, or only started; 1 when a case failed.\n' +
        '\nExample:\n' +
        '  $ waybill certify tickets --connector-version 1.1.0 --instance acme-sandbox \\\n' +
        '      --cases conformance.json\n',
    )
    .action(certify);
}

async function certify(connectorId: string, options: CertifyOptions): Promise<void> {
  const { fromFile } = await import('./conformance/inputs.js');
  const { ConformanceCases } = await import('../schemas/conformance.js');
  const { VectorFile } = await import('../schemas/webhook-vectors.js');
  const { connectorVersion: version, instance, credential } = options;
  await refuseReport(options);
  const requests = await fromFile(ConformanceCases, options.cases, '--cases', {});
  const vectors = await fromFile(VectorFile, options.vectors, '--vectors', []);
  const api = await openApi(options);
  const asked = await api.connectors.certify(connectorId, {
    ...{ version, instance, requests, vectors: [...vectors] },
    ...(credential === undefined ? {} : { credential }),
  });
  const certification = options.wait ? await follow(api, asked) : asked;
  if (options.report !== undefined && certification.state === 'passed') {
    await writeReport(options.report, certification, api);
  }
  await print(certification, options.json ?? false);
}

/** Before anything is tried, which takes minutes. */
async function refuseReport({ report, wait }: CertifyOptions): Promise<void> {
  if (report === undefined) return;
  if (!wait) throw wrongReport('there is none before it is over; leave --no-wait out');
  await access(path.dirname(report), constants.W_OK).catch((error: unknown) => {
    throw wrongReport(messageOf(error));
  });
}

/** @throws WaybillError `config_invalid` where the file cannot be written, `not_found` where it is not ours */
async function writeReport(
  file: string,
  { connectorId, version, instanceId }: Certification,
  api: ApiClient,
): Promise<void> {
  if (instanceId === null) {
    const why = `${connectorId} ${version} was certified on the sandbox of another tenant, which alone may read the report`;
    throw new WaybillError('not_found', why);
  }
  const report = await api.connectors.readReport(connectorId, version);
  await writeFile(file, report).catch((error: unknown) => {
    throw wrongReport(messageOf(error));
  });
}

function wrongReport(why: string): WaybillError {
  return new WaybillError('config_invalid', `--report: ${why}`, { field: '--report' });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Until it is over; each group as it was tried goes to standard error. */
async function follow(api: ApiClient, asked: Certification): Promise<Certification> {
  let seen = asked;
  let told = 0;
  for (;;) {
    for (const group of seen.groups.slice(told)) process.stderr.write(`tried ${group}\n`);
    told = seen.groups.length;
    if (seen.state !== 'running') return seen;
    await delay(LOOK_MS);
    seen = await api.connectors.showCertification(asked.connectorId, asked.version);
  }
}

/** @throws CommandFailure `not_certified` naming the first case that failed */
async function print(certification: Certification, json: boolean): Promise<void> {
  const { connectorId, version, suiteVersion, state, counts, reason, evidenceId } = certification;
  const cases = certification.cases ?? [];
  if (json) printJson(certification);
  else {
    const { failedCases } = await import('./conformance/report.js');
    const told = `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`;
    const head = `${connectorId} ${version} by suite ${suiteVersion}: ${state} (${told})`;
    const where =
      state === 'running'
        ? `see \`waybill certify\` again, or the workflow ${certification.workflowId}`
        : `evidence ${evidenceId ?? 'none'}`;
    printLine(page([...failedCases(cases), `${head}\n${where}`]));
  }
  if (state !== 'failed') return;
  const failed = cases.find(({ verdict }) => verdict === 'failed');
  const why =
    failed === undefined ? (reason ?? 'see its cases') : `${failed.id}: ${failed.why ?? ''}`;
  throw new CommandFailure('not_certified', `${connectorId} ${version} is not certified: ${why}`);
}
