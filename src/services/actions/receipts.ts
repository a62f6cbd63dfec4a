/** Signing the receipts of actions: what a step knows, over the chain as the database tells it. */
import { createHash } from 'node:crypto';
import type {
  ActionReceiptFacts,
  ActionReceiptKind,
  ActionSigner,
  WantedActionReceipt,
} from '../../domain/receipts';
import type { ActionResult } from '../../domain/routes';
import type { ReceiptFacts } from '../../schemas/action-step-rows';
import type { SigningKey } from '../../signing/keys';
import { receiptDigest, signReceipt } from '../../signing/receipts/sign';

const NOTHING: ActionReceiptFacts = {
  attempt: null,
  fence: null,
  replicaId: null,
  settlement: null,
  finding: null,
  errorCode: null,
  resultSha256: null,
  by: null,
  reason: null,
  approval: null,
};

export function actionSigner(key: SigningKey): ActionSigner {
  return ({ tenantId, actionId }, about) =>
    (wanted) => {
      const { kind, capabilityId, requestSha256, receiptSeq, receiptDigest: prev, now } = wanted;
      const seq = receiptSeq + 1;
      const facts = { ...NOTHING, ...about, ...recorded(wanted) };
      const jws = signReceipt(
        {
          iss: 'waybill',
          v: 1,
          tenant: tenantId,
          subject: `action/${actionId}`,
          seq,
          prev,
          at: new Date(now).toISOString(),
          kind,
          data: { actionId, capabilityId, requestSha256, ...facts },
        },
        key,
      );
      const digest = receiptDigest(jws);
      return Promise.resolve({ kind, seq, previousDigest: prev, jws, digest });
    };
}

/** What will be due, told by what was read so many milliseconds ago. */
export function expectedReceipt(
  facts: ReceiptFacts,
  kind: ActionReceiptKind,
  agoMs: number,
): WantedActionReceipt {
  return { ...facts, kind, now: new Date(Date.parse(facts.now) + agoMs).toISOString() };
}

/** The receipt of an action that closes with this outcome; see `waybill.closing_receipt`. */
export function closingReceipt(outcome: ActionResult['outcome']): ActionReceiptKind {
  return outcome === 'succeeded' ? 'action_completed' : `action_${outcome}`;
}

/** What a result's bytes are known by; null: it has none. */
export function digestOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : createHash('sha256').update(bytes).digest('hex');
}

/** A result that was written before is the action's, whatever this step has brought. */
function recorded({ result, approval }: WantedActionReceipt): Partial<ActionReceiptFacts> {
  return {
    ...(approval === null ? {} : { approval }),
    ...(result && { errorCode: result.errorCode, resultSha256: result.resultSha256 }),
  };
}
