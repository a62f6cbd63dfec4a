/** Having a connector version certified, and how far that is. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import {
  readCertification,
  readCertificationReport,
  requestCertification,
} from '../db/certifications';
import { countCases, SUITE_VERSION } from '../domain/conformance';
import { WaybillError } from '../domain/errors';
import {
  Certification,
  CertificationParams,
  CertifyBody,
  ConformanceReport,
  ConnectorParams,
} from '../schemas/api-connectors';
import type { CertificationRow, RequestCertificationAnswer } from '../schemas/certification-rows';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { KEY_PROBLEMS } from './idempotency';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { certificationLinks } from './workflow-links';

const ADMIN = 'factory.connections.admin';
const READ = 'factory.connections.read';

/** Registers the routes on an instance that requires tokens. */
export function certificationRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();
  typed.route({
    method: 'POST',
    url: '/factory/connectors/:connectorId/certify',
    config: { scope: ADMIN, idempotencyKey: 'optional', sideEffects: 'sandbox' },
    schema: {
      operationId: 'certifyConnector',
      summary:
        'Puts a version to the conformance suite on a sandbox instance; done once, it stays so.',
      tags: ['connectors'],
      security: needs(ADMIN),
      params: ConnectorParams,
      body: CertifyBody,
      response: {
        200: answer('It has passed this suite before.', Certification),
        202: answer('Under way: see its state.', Certification),
        ...problems([
          ...EVERY_CALL,
          ...KEY_PROBLEMS,
          ...(['not_found', 'certification_refused', 'temporal_unreachable'] as const),
          ...(['body_too_large', 'publication_busy'] as const),
        ]),
      },
    },
    handler: async (request, reply) => {
      const certification = await certify(deps, request, { ...request.params, ...request.body });
      return reply.code(certification.state === 'passed' ? 200 : 202).send(certification);
    },
  });
  typed.route({
    method: 'GET',
    url: '/factory/connectors/:connectorId/certifications/:version',
    config: { scope: READ },
    schema: {
      operationId: 'showCertification',
      summary: "The newest certification of a version: how far it is, and each case's verdict.",
      tags: ['connectors'],
      security: needs(READ),
      params: CertificationParams,
      response: {
        200: answer('The certification.', Certification),
        ...problems([...EVERY_CALL, 'not_found']),
      },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const found = await readCertification(deps.data, tenantId, request.params);
      if (found === null) throw new WaybillError('not_found');
      return shown(deps, found);
    },
  });
  reportRoute(app, deps);
}

/** The very bytes, so that whoever has them can hold them against the statement. */
function reportRoute(app: FastifyInstance, deps: HttpDeps): void {
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'GET',
    url: '/factory/connectors/:connectorId/certifications/:version/report',
    config: { scope: READ },
    schema: {
      operationId: 'readCertificationReport',
      summary: 'The newest report of a version that passed: the bytes that its evidence is about.',
      tags: ['connectors'],
      security: needs(READ),
      params: CertificationParams,
      response: {
        200: answer('The report; its SHA-256 is in the statement.', ConformanceReport),
        ...problems([...EVERY_CALL, 'not_found']),
      },
    },
    handler: async (request, reply) => {
      const { tenantId } = principalOf(request);
      const report = await readCertificationReport(deps.data, tenantId, request.params);
      if (report === null) throw new WaybillError('not_found');
      return reply.type('application/json').send(report as unknown as ConformanceReport);
    },
  });
}

type Wish = z.output<typeof CertifyBody> & z.output<typeof ConnectorParams>;

async function certify(
  deps: HttpDeps,
  request: FastifyRequest,
  { connectorId, version, instance, credential, requests = {}, vectors = [] }: Wish,
): Promise<Certification> {
  const { tenantId, subject: by } = principalOf(request);
  const { signer } = deps.certifications;
  const ref = { connectorId, version, suiteVersion: SUITE_VERSION };
  const cases = { requests, vectors, credential: credential ?? null };
  const asked = await requestCertification(deps.data, tenantId, ref, {
    instance,
    by,
    signer,
    cases,
  });
  if (!('certification' in asked)) throw refusal(asked.answer, { version, instance, signer });
  const { certification } = asked;
  deps.log.info({ ...ref, tenantId, by, outcome: asked.answer }, 'certification asked for');
  // Also of a run that is under way: whoever asks again makes good a start that was lost.
  if (certification.state === 'running') {
    await deps.certifications.start(tenantId, { ...ref, run: certification.run });
  }
  return shown(deps, certification);
}

type Refusal = Exclude<RequestCertificationAnswer, { certification: unknown }>['answer'];

function refusal(
  why: Refusal,
  { version, instance, signer }: { version: string; instance: string; signer: string },
): WaybillError {
  const refused = (field: string, detail: string) =>
    new WaybillError('certification_refused', detail, { field });
  switch (why) {
    case 'unknown_version':
      return new WaybillError('not_found', 'there is no such connector version', {
        field: 'version',
      });
    case 'busy':
      return new WaybillError('publication_busy', 'somebody publishes; try again');
    case 'revoked':
      return refused('version', `version ${version} is revoked, for good; publish a new one`);
    case 'nothing_to_try':
      return refused('version', `version ${version} has neither capabilities nor a webhook scheme`);
    case 'no_artifact':
      return refused(
        'version',
        `version ${version} was published without artifactDigest: nothing can vouch for it; publish a new one`,
      );
    case 'unknown_instance':
      return refused(
        'instance',
        `${instance} is no enabled instance of this connector and version ${version} in this tenant`,
      );
    case 'connector_disabled':
      return refused('', 'the connector is not enabled: it starts nothing; enable it first');
    case 'instance_serves':
      return refused(
        'instance',
        `${instance} has an enabled binding, so it is no sandbox: name an instance that no action is routed to`,
      );
    case 'untrusted_signer':
      return refused(
        '',
        `the settings have trustedSigners, and the key of this deployment is none of them: list {"kty": "OKP", "crv": "Ed25519", "x": "${signer}"}`,
      );
  }
}

function shown(deps: HttpDeps, row: CertificationRow): Certification {
  const { results, verdicts, ...rest } = row;
  const cases = results === null ? null : Object.values(results).flat();
  const counted = Object.values(verdicts).flatMap((all) => all.map((verdict) => ({ verdict })));
  return {
    ...rest,
    counts: countCases(counted),
    groups: Object.keys(verdicts) as Certification['groups'],
    cases:
      cases?.map(({ id, group, verdict, rule, why, durationMs, exchanges }) => ({
        ...{ id, group, verdict, rule, why, durationMs },
        exchanges: verdict === 'failed' ? exchanges : [],
      })) ?? null,
    ...certificationLinks(deps, row),
  };
}
