/** Receipts of actions in tests that do not check them: really signed, by a key of this file's own. */
import { requestCancel } from '../../src/db/action-steps';
import { tenantId } from '../../src/domain/ids';
import type { ActionSigner } from '../../src/domain/receipts';
import { actionSigner } from '../../src/services/actions/receipts';
import { generateKeyText, importSigningKey, type SigningKey } from '../../src/signing/keys';
import type { TestDatabase } from './test-database';

let key: Promise<SigningKey> | null = null;

/** Made on first use, the same for all of a test file. */
export async function testKey(): Promise<SigningKey> {
  key ??= generateKeyText().then(importSigningKey);
  return await key;
}

export const testSigner: ActionSigner = (ref, about) => async (wanted) =>
  await actionSigner(await testKey())(ref, about)(wanted);

/** Cancels an action as an operator does. */
export async function cancelAction(db: TestDatabase, tenant: string, actionId: string) {
  const ref = { tenantId: tenantId(tenant), actionId };
  const who = { cancelledBy: 'ada', reason: 'x' };
  return await requestCancel(
    db.as('waybill_data'),
    ref,
    who,
    testSigner(ref, { by: 'ada', reason: 'x' }),
  );
}
