/** The activities of a certification: thin, over the services that do the work. */
import type { CertificationActivities } from '../domain/certification';
import {
  judgeCertification,
  tryConformanceGroup,
  type CertificationServices,
} from '../services/certification';
import { whileBeating } from './beating';

export function certificationActivities(services: CertificationServices): CertificationActivities {
  return {
    tryConformanceGroup: (request) =>
      whileBeating(({ signal }) => tryConformanceGroup(services, request, signal)),
    concludeCertification: (request) => whileBeating(() => judgeCertification(services, request)),
  };
}
