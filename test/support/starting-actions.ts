/** What starting actions takes, over a test's database. */
import { actionLedger } from '../../src/db/actions';
import { capabilityCatalog } from '../../src/db/capabilities';
import type { Database } from '../../src/db/database';
import { RequestChecks } from '../../src/services/actions/request-checks';
import type { StartServices } from '../../src/services/actions/starting';
import { testSigner } from './test-signer';

/** @param data role waybill_data */
export function startingActions(
  data: Database,
  attend: StartServices['attend'],
  sign: StartServices['sign'] = testSigner,
): StartServices {
  return {
    data,
    ledger: actionLedger(data),
    catalog: capabilityCatalog(data),
    checks: new RequestChecks(),
    sign,
    attend,
  };
}
