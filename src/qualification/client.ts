/** The qualification client: signed calls through the TLS edge, each with a token of its tenant's own key. */
import { Agent, request } from 'undici';
import { z } from 'zod';
import { GATEWAY_HEADER } from './edge/settings';
import { tenantToken, type Person } from './site/keys';
import type { Site } from './site/site';
import type { GatewayName, Tenant } from './site/topology';

export interface Call {
  readonly tenant: Tenant;
  /** The client itself where it is left out. */
  readonly as?: Person;
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  /** The gateway to go to first; without it the edge decides. */
  readonly via?: GatewayName;
}

export interface Post {
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly via?: GatewayName;
}

export interface Answer {
  readonly status: number;
  readonly gateway: string | null;
  readonly body: unknown;
}

/** What is kept of a call as evidence. */
export interface CallRecord {
  readonly at: string;
  /** Null: nobody's, a webhook. */
  readonly tenant: Tenant | null;
  readonly call: string;
  readonly wantedGateway: string | null;
  readonly gateway: string | null;
  /** Null: no answer came. */
  readonly status: number | null;
  readonly took: string;
  readonly answer: unknown;
}

const SCOPES: Readonly<Record<Person, readonly string[]>> = {
  client: [
    ...['factory.actions.run', 'factory.actions.read', 'factory.catalog.read'],
    ...['factory.replays.read', 'factory.replays.operate'],
  ],
  approver: ['factory.actions.approve', 'factory.actions.read'],
};
const CALL_TIMEOUT_MS = 75_000;

export class QualificationClient {
  readonly #site: Site;
  readonly #agent: Agent;
  #note: (record: CallRecord) => void = () => undefined;

  constructor(site: Site) {
    this.#site = site;
    // Trusts the certificate of this run and no other; a connection a call, so that each is a choice.
    this.#agent = new Agent({ connect: { ca: site.keys.certificate.cert }, pipelining: 0 });
  }

  /** Whoever is told of the calls from now on. */
  noteTo(note: (record: CallRecord) => void): void {
    this.#note = note;
  }

  /** @throws Error where no answer came */
  async call(call: Call): Promise<Answer> {
    return await this.#noted(call.tenant, call, async () => await this.#send(call));
  }

  /** What somebody else posts, without a token. */
  async post(post: Post): Promise<Answer> {
    const call = { ...post, method: 'POST' } as const;
    return await this.#noted(null, call, () => this.#exchange(call, post.headers, post.body));
  }

  async #noted(
    tenant: Tenant | null,
    call: Pick<Call, 'method' | 'path' | 'via'>,
    send: () => Promise<Answer>,
  ): Promise<Answer> {
    const began = performance.now();
    const at = new Date().toISOString();
    const record = (
      status: number | null,
      gateway: string | null,
      answer: unknown,
    ): CallRecord => ({
      ...{ at, tenant, call: `${call.method} ${call.path}`, status, gateway, answer },
      wantedGateway: call.via ?? null,
      took: `${Math.round(performance.now() - began)} ms`,
    });
    try {
      const answer = await send();
      this.#note(record(answer.status, answer.gateway, answer.body));
      return answer;
    } catch (error) {
      this.#note(record(null, null, error instanceof Error ? error.message : String(error)));
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #send(call: Call): Promise<Answer> {
    const { tenant, as: person = 'client' } = call;
    const token = await tenantToken(this.#site.keys, { tenant, person }, SCOPES[person]);
    const content = call.body === undefined ? {} : { 'content-type': 'application/json' };
    const headers = { authorization: `Bearer ${token}`, ...content };
    const body = call.body === undefined ? null : JSON.stringify(call.body);
    return await this.#exchange(call, headers, body);
  }

  async #exchange(
    { method, path, via }: Pick<Call, 'method' | 'path' | 'via'>,
    headers: Readonly<Record<string, string>>,
    body: string | null,
  ): Promise<Answer> {
    const response = await request(`https://127.0.0.1:${this.#site.ports.edge}${path}`, {
      ...{ method, body, dispatcher: this.#agent },
      headers: { ...headers, ...(via === undefined ? {} : { [GATEWAY_HEADER]: via }) },
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    });
    const text = await response.body.text();
    const gateway = response.headers[GATEWAY_HEADER];
    return {
      status: response.statusCode,
      gateway: typeof gateway === 'string' ? gateway : null,
      body: parsed(text),
    };
  }
}

const Problem = z.object({ code: z.string() });

/** `404 not_found`: status and code of a problem; the status alone where there is none. */
export function statusAndCode({ status, body }: Answer): string {
  const problem = Problem.safeParse(body);
  return problem.success ? `${status} ${problem.data.code}` : String(status);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(0, 500);
  }
}
