/**
 * The typed client of Waybill's HTTP API: `import { createWaybillClient } from 'waybill/client'`. Paths,
 * parameters, bodies and answers are those of docs/openapi.json.
 */
import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from '../../client/openapi';
import { patientFetch } from './patient-fetch';

export { WaybillProblem, answerOf } from './answers';
export { runAction, waitForAction } from './actions';
export type { components, paths };

export type WaybillClient = Client<paths>;

export interface WaybillClientOptions {
  /** Without a path, e.g. `https://waybill.example.com`. */
  readonly baseUrl: string;
  /** A bearer token, or what makes one for each call. */
  readonly token: string | (() => string | Promise<string>);
  /**
   * How often a call is repeated that met a passing fault, if repeating does no harm: `GET` and `PUT`,
   * and what carries an `Idempotency-Key`. 3 unless told.
   */
  readonly retries?: number;
  /** In place of the global one, for a proxy or a test. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/**
 * A client whose calls answer `{data, error, response}`; `answerOf` makes data or an exception of that. A
 * redirect is never followed: the token is for this address.
 */
export function createWaybillClient(options: WaybillClientOptions): WaybillClient {
  const { baseUrl, token, retries = 3, fetch: send = globalThis.fetch } = options;
  const client = createClient<paths>({
    baseUrl: baseUrl.replace(/\/+$/, ''),
    redirect: 'error',
    fetch: patientFetch((request) => send(request), retries),
  });
  client.use({
    async onRequest({ request }) {
      const bearer = typeof token === 'string' ? token : await token();
      request.headers.set('authorization', `Bearer ${bearer}`);
      return request;
    },
  });
  return client;
}
