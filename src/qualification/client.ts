/** The qualification client: signed calls through the TLS edge, each with a token of its tenant's own key. */
import { Agent, request } from 'undici';
import { z } from 'zod';
import { GATEWAY_HEADER } from './edge/settings';
import { tenantToken } from './site/keys';
import type { Site } from './site/site';
import type { GatewayName, Tenant } from './site/topology';

export interface Call {
  readonly tenant: Tenant;
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  /** The gateway to go to first; without it the edge decides. */
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
  readonly tenant: Tenant;
  readonly call: string;
  readonly wantedGateway: string | null;
  readonly gateway: string | null;
  /** Null: no answer came. */
  readonly status: number | null;
  readonly took: string;
  readonly answer: unknown;
}

const SCOPES = ['factory.actions.run', 'factory.actions.read', 'factory.catalog.read'];
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
    const began = performance.now();
    const at = new Date().toISOString();
    const record = (
      status: number | null,
      gateway: string | null,
      answer: unknown,
    ): CallRecord => ({
      ...{ at, tenant: call.tenant, call: `${call.method} ${call.path}`, status, gateway, answer },
      wantedGateway: call.via ?? null,
      took: `${Math.round(performance.now() - began)} ms`,
    });
    try {
      const answer = await this.#send(call);
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

  async #send({ tenant, method, path, body, via }: Call): Promise<Answer> {
    const token = await tenantToken(this.#site.keys, tenant, SCOPES);
    const response = await request(`https://127.0.0.1:${this.#site.ports.edge}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: {
        authorization: `Bearer ${token}`,
        ...(via === undefined ? {} : { [GATEWAY_HEADER]: via }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
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
