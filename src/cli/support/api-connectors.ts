/** The calls of the HTTP API about connectors and their certification. */
import { z } from 'zod';
import {
  Certification,
  ConnectorPage,
  type CertifyBody,
  type ListConnectorsQuery,
} from '../../schemas/api-connectors';
import { given } from './api-parameters';
import type { Ask } from './api-transport';

export class ConnectorsClient {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  list(query: z.input<typeof ListConnectorsQuery>): Promise<ConnectorPage> {
    return this.#ask(ConnectorPage, (api, how) =>
      api.GET('/factory/connectors', { params: { query: given(query) }, ...how }),
    );
  }

  certify(connectorId: string, body: z.input<typeof CertifyBody>): Promise<Certification> {
    const call = { params: { path: { connectorId } }, body: given(body) };
    return this.#ask(Certification, (api, how) =>
      api.POST('/factory/connectors/{connectorId}/certify', { ...call, ...how }),
    );
  }

  showCertification(connectorId: string, version: string): Promise<Certification> {
    const params = { path: { connectorId, version } };
    return this.#ask(Certification, (api, how) =>
      api.GET('/factory/connectors/{connectorId}/certifications/{version}', { params, ...how }),
    );
  }

  /** Its very bytes, as text. */
  readReport(connectorId: string, version: string): Promise<string> {
    const params = { path: { connectorId, version } };
    return this.#ask(z.string(), (api, how) =>
      api.GET('/factory/connectors/{connectorId}/certifications/{version}/report', {
        ...{ params, parseAs: 'text' as const },
        ...how,
      }),
    );
  }
}
