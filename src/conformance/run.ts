/** One case under way: what it sends is noted, and what it finds wrong is thrown. */
import { createHash } from 'node:crypto';
import type { Dispatcher } from 'undici';
import type { CaseExchange, CaseResult, ConformanceGroup } from '../domain/conformance';
import type { HostManifest, ManifestCapability } from '../domain/host-protocol';
import { getPage, send, type CallSpec, type Sent } from './calls';
import { bounded, noReply, replyText, type Reply } from './replies';
import { samplesFor, type Samples } from './samples';
import type { ConformanceSetup } from './subject';

/** The host does not do what the rule says. */
class CaseFailed extends Error {}

/** The case cannot be tried here; that is no one's fault. */
class CaseSkipped extends Error {}

const MOST_EXCHANGES = 20;
const DEFAULT_TIMEOUT_MS = 30_000;
/** Every case gives its actions fences from here on; real ones are microseconds, too. */
const FENCES_PER_MS = 1_000;

export interface RunParts {
  readonly setup: ConformanceSetup;
  readonly agent: Dispatcher;
  readonly manifest: HostManifest;
  /** By capability, made once. */
  readonly samples: Map<string, Samples>;
}

/** Spoilt or plain; the rest of a call is filled in. */
export type PartialCall = Pick<CallSpec, 'purpose' | 'action'> &
  Partial<CallSpec> & {
    /** What is special about it, in words. */
    readonly with?: string;
  };

export class CaseRun {
  readonly setup: ConformanceSetup;
  readonly manifest: HostManifest;
  readonly exchanges: CaseExchange[] = [];
  readonly #agent: Dispatcher;
  readonly #samples: Map<string, Samples>;
  readonly #caseId: string;
  #count = 0;
  #fence: number;

  constructor({ setup, agent, manifest, samples }: RunParts, caseId: string) {
    this.setup = setup;
    this.manifest = manifest;
    this.#agent = agent;
    this.#samples = samples;
    this.#caseId = caseId;
    this.#fence = Math.floor(setup.nowMs()) * FENCES_PER_MS;
  }

  fail(why: string): never {
    throw new CaseFailed(why);
  }

  skip(why: string): never {
    throw new CaseSkipped(why);
  }

  /** An id that nothing real can have, and no other run has. */
  newAction(): string {
    return `conformance-${this.#draw('action').slice(0, 32)}`;
  }

  /** Of a token. */
  newJti(): string {
    const hex = this.#draw('jti');
    const groups = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`];
    return [...groups, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
  }

  /** Above all before. */
  nextFence(): number {
    this.#fence += 1;
    return this.#fence;
  }

  /** Sends, notes, and answers what came back with the text of its token. */
  async send(call: PartialCall): Promise<Sent> {
    const [first] = this.manifest.capabilities;
    const capability = call.capability ?? first?.capabilityId ?? 'none';
    const timeoutMs = this.timeoutOf(capability);
    const spec = { fence: this.nextFence(), timeoutMs, ...call, capability };
    const sent = await send(spec, this.#deps());
    this.note(callText(spec, call.with), replyText(sent.reply));
    return sent;
  }

  async call(call: PartialCall): Promise<Reply> {
    return (await this.send(call)).reply;
  }

  /** A page: its status and bytes. */
  async page(path: string): Promise<{ readonly status: number; readonly body: Buffer }> {
    const answered = await getPage(path, DEFAULT_TIMEOUT_MS, this.#deps());
    if (answered.kind !== 'received') {
      this.note(`GET ${path}`, replyText(noReply(answered)));
      return this.fail(`GET ${path} got no answer: ${answered.detail}`);
    }
    this.note(`GET ${path}`, `${answered.status}: ${answered.body.toString('utf8')}`);
    return answered;
  }

  samplesOf(capability: ManifestCapability): Samples {
    const { capabilityId } = capability;
    const samples = this.#samples.get(capabilityId) ?? samplesFor(capability, this.setup.cases);
    this.#samples.set(capabilityId, samples);
    return samples;
  }

  timeoutOf(capability: string): number {
    return this.offered(capability)?.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  }

  offered(capability: string): ManifestCapability | undefined {
    return this.manifest.capabilities.find(({ capabilityId }) => capabilityId === capability);
  }

  #deps() {
    return { setup: this.setup, agent: this.#agent, newJti: () => this.newJti() };
  }

  /** The same for the same seed, and in no other run. */
  #draw(what: string): string {
    this.#count += 1;
    const text = [this.setup.seed, this.#caseId, what, String(this.#count)].join('\n');
    return createHash('sha256').update(text).digest('hex');
  }

  /** Kept with the case's result; the newest ones of many. */
  note(sent: string, cameBack: string): void {
    this.exchanges.push({ sent: bounded(sent), cameBack: bounded(cameBack) });
    if (this.exchanges.length > MOST_EXCHANGES) this.exchanges.shift();
  }
}

/** A case says what is wrong by throwing. */
export interface ConformanceCase {
  readonly id: string;
  readonly group: ConformanceGroup;
  readonly rule: string;
  readonly check: (run: CaseRun) => Promise<void>;
}

/** Runs one case; whatever it throws becomes its verdict. */
export async function runCase(one: ConformanceCase, parts: RunParts): Promise<CaseResult> {
  const { setup } = parts;
  const run = new CaseRun(parts, one.id);
  const startedAtMs = Math.floor(setup.nowMs());
  const began = performance.now();
  const found = await Promise.resolve(run)
    .then(one.check)
    .then(
      () => ({ verdict: 'passed', why: null }) as const,
      (error: unknown) => {
        if (error instanceof CaseSkipped)
          return { verdict: 'skipped', why: error.message } as const;
        const why = error instanceof Error ? error.message : String(error);
        return { verdict: 'failed', why: bounded(why) } as const;
      },
    );
  const { id, group, rule } = one;
  const durationMs = Math.round(performance.now() - began);
  return { ...{ id, group, rule }, ...found, startedAtMs, durationMs, exchanges: run.exchanges };
}

const METHODS = { execute: 'PUT', read: 'GET', reconcile: 'POST', cancel: 'POST' } as const;

function callText(spec: CallSpec, special = ''): string {
  const route = spec.route ?? spec.purpose;
  const tail = route === 'reconcile' || route === 'cancel' ? `/${route}` : '';
  const about = special === '' ? '' : `, ${special}`;
  const text = Buffer.from(spec.body ?? '').toString('utf8');
  const path = `/v1/actions/${spec.path ?? spec.action}${tail}`;
  const token = `token: ${spec.purpose} ${spec.capability}, fence ${spec.fence}${about}`;
  return `${METHODS[route]} ${path}; ${token}${text === '' ? '' : `; body ${text}`}`;
}
