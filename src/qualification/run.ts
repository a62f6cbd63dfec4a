/** A run of the failure matrix, from an empty folder to sealed evidence. */
import { randomBytes } from 'node:crypto';
import { QualificationClient } from './client';
import { environmentFacts, sourceIdentity } from './evidence/origin';
import { EvidenceFolder } from './evidence/folder';
import {
  caseFile,
  FILES,
  type CaseRecord,
  type MatrixLine,
  type Summary,
} from './evidence/records';
import { reportHtml } from './evidence/report';
import { SecretValues } from './evidence/secret-values';
import { Judge } from './judging/judge';
import type { Plan } from './plan';
import { caseProblems, runCase, type CaseGround } from './run-case';
import { routeSnapshot, tearDown, topologyOf, writeBaseline, writeFinalState } from './run-files';
import { Site } from './site/site';
import type { ProcessEvent } from './site/site-process';
import { publicKeySet } from '../signing/keys';
import { unlessAborted } from './unless-aborted';

export interface RunOptions {
  readonly folder: string;
  readonly plan: Plan;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
}

export interface RunOutcome {
  readonly summary: Summary;
  readonly folder: string;
  /** SHA-256 of the list of digests: stands for all of the evidence. */
  readonly digest: string;
}

/**
 * Runs the plan and writes its evidence, also of a run that fails or is asked to end; then nothing of it is
 * left but the evidence.
 * @throws WaybillError `config_invalid` for a folder that cannot be taken; nothing was started then
 */
export async function qualify(options: RunOptions): Promise<RunOutcome> {
  const run = Run.begin(options);
  try {
    await run.bringUpAndProve();
  } catch (error) {
    run.fail(error instanceof Error ? error.message : String(error));
  }
  return await run.end();
}

class Run {
  readonly #options: RunOptions;
  readonly #secrets: SecretValues;
  readonly #evidence: EvidenceFolder;
  readonly #runId: string;
  readonly #startedAt = new Date().toISOString();
  readonly #source = sourceIdentity();
  readonly #matrix: MatrixLine[] = [];
  readonly #records: CaseRecord[] = [];
  readonly #events: ProcessEvent[] = [];
  readonly #failures: string[] = [];
  #site: Site | null = null;
  #judge: Judge | null = null;
  #client: QualificationClient | null = null;

  private constructor(
    options: RunOptions,
    ground: {
      readonly runId: string;
      readonly secrets: SecretValues;
      readonly evidence: EvidenceFolder;
    },
  ) {
    this.#options = options;
    this.#runId = ground.runId;
    this.#secrets = ground.secrets;
    this.#evidence = ground.evidence;
  }

  static begin(options: RunOptions): Run {
    const runId = randomBytes(6).toString('hex');
    const secrets = new SecretValues();
    const claim = { runId, startedAt: new Date().toISOString(), pid: process.pid };
    const evidence = EvidenceFolder.claim(options.folder, claim, secrets);
    const run = new Run(options, { runId, secrets, evidence });
    const { kind, families: cases, soak } = options.plan;
    evidence.json(FILES.plan, { kind, ...(soak === null ? {} : { soak }), cases });
    evidence.json(FILES.source, run.#source);
    evidence.json(FILES.environment, environmentFacts());
    return run;
  }

  fail(reason: string): void {
    this.#failures.push(reason);
  }

  async bringUpAndProve(): Promise<void> {
    const { tell, signal } = this.#options;
    const parts = {
      ...{ tell, secrets: this.#secrets, artifactDigest: this.#source.build.dist },
      note: (event: ProcessEvent) => {
        this.#evidence.line(FILES.events, event);
        this.#events.push(event);
      },
    };
    const site = await Site.prepare(parts);
    this.#site = site;
    await unlessAborted(signal, site.bringUp(parts));
    const judge = new Judge(site);
    this.#judge = judge;
    const client = new QualificationClient(site);
    this.#client = client;
    this.#evidence.json(FILES.topology, topologyOf(site));
    this.#evidence.json(FILES.keys, publicKeySet([site.keys.deployment.key]));
    const shared = new Map<string, unknown>();
    const ground: CaseGround = {
      ...{ site, judge, client, shared, soak: this.#options.plan.soak },
      actionId: (label) => `q-${this.#runId}-${label}`,
      keep: (name, value) => {
        this.#keep(name, value);
      },
    };
    for (const [index, family] of this.#options.plan.families.entries()) {
      const record = await unlessAborted(signal, runCase(ground, family));
      this.#evidence.json(caseFile(index + 1, family.name), record);
      this.#records.push(record);
      if (family.name === 'baseline') writeBaseline(this.#evidence, record);
      const problems = caseProblems(family, record);
      this.#line(family.name, record.status, problems.join('; ') || family.invariant);
      this.#failures.push(...problems.map((problem) => `${family.name}: ${problem}`));
      const seconds = (Date.parse(record.endedAt) - Date.parse(record.startedAt)) / 1_000;
      tell(`${record.status === 'passed' ? '✓' : '✗'} ${family.name} (${seconds.toFixed(1)} s)`);
      for (const problem of problems) tell(`    ${problem}`);
      this.#evidence.json(`routes/after-${family.name}.json`, await routeSnapshot(judge));
    }
    const failed = this.#matrix.filter(({ status }) => status === 'failed').length;
    const count = this.#matrix.length;
    this.#line('complete', 'complete', `${count - failed} of ${count} cases passed`);
  }

  /** Ends what runs, then writes what can only be said at the end. */
  async end(): Promise<RunOutcome> {
    this.#options.tell('stopping');
    if (this.#judge !== null) await writeFinalState(this.#evidence, this.#judge);
    await this.#client?.close();
    await this.#judge?.close();
    if (this.#site !== null) {
      this.#failures.push(...(await tearDown(this.#site, this.#evidence, this.#secrets)));
    }
    const { plan } = this.#options;
    const passed = this.#matrix.filter(({ status }) => status === 'passed').length;
    const failed = this.#matrix.filter(({ status }) => status === 'failed').length;
    const missing = plan.families.length - passed - failed;
    if (missing > 0) this.fail(`${missing} of ${plan.families.length} cases are missing`);
    const summary: Summary = {
      status: this.#failures.length === 0 ? 'passed' : 'failed',
      ...{ runId: this.#runId, plan: plan.kind, startedAt: this.#startedAt },
      completedAt: new Date().toISOString(),
      cases: { planned: plan.families.length, passed, failed },
      ...{ failures: this.#failures, source: this.#source },
    };
    this.#evidence.json(FILES.summary, summary);
    this.#evidence.text(FILES.report, reportHtml(summary, this.#records, this.#events));
    return { summary, folder: this.#evidence.path, digest: this.#evidence.seal() };
  }

  /** A list in a file of JSON lines is written anew as a whole: it is kept as it is now. */
  #keep(name: string, value: unknown): void {
    if (name.endsWith('.jsonl') && Array.isArray(value)) {
      this.#evidence.text(name, value.map((one) => `${JSON.stringify(one)}\n`).join(''));
    } else {
      this.#evidence.json(name, value);
    }
  }

  #line(name: string, status: MatrixLine['status'], detail: string): void {
    const seq = this.#matrix.length + 1;
    const line: MatrixLine = { seq, case: name, status, detail, at: new Date().toISOString() };
    this.#matrix.push(line);
    this.#evidence.line(FILES.matrix, line);
  }
}
