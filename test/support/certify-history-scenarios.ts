/** The lives of a certification whose histories are kept in `test/histories`, in this order on one rig. */
import type { CertificationRef } from '../../src/domain/certification';
import { DRAFT, type CertifyRig } from './certify-rig';

export type CertifyScenario = (rig: CertifyRig) => Promise<CertificationRef>;

export const CERTIFY_SCENARIOS: Readonly<Record<string, CertifyScenario>> = {
  'certify-without-a-host': async (rig) => {
    await rig.certify();
    return { ...DRAFT, run: 1 };
  },

  'certify-failed-by-its-author': async (rig) => {
    await rig.host(['r2', 'r1']);
    // Called valid, and the provider refuses it.
    const wrong = { 'tickets.read': { valid: [{ recordId: 'nobody.has-it' }], invalid: [] } };
    await rig.certify({ requests: wrong });
    await rig.stopHost();
    return { ...DRAFT, run: 2 };
  },

  'certify-passed': async (rig) => {
    await rig.host();
    await rig.certify();
    return { ...DRAFT, run: 3 };
  },
};
