/** Approvers whom a test's deployment trusts, and what they sign. */
import type { ActionRef } from '../../src/domain/action-service';
import { aboutAction } from '../../src/domain/approvals';
import { signApproval } from '../../src/signing/approvals/sign';
import { didOfKey } from '../../src/signing/did-key';
import { generateKeyText, importSigningKey, type SigningKey } from '../../src/signing/keys';
import type { TestDatabase } from './test-database';

export class Approver {
  readonly name: string;
  readonly #key: SigningKey;

  private constructor(name: string, key: SigningKey) {
    this.name = name;
    this.#key = key;
  }

  /** Trusted under this name, and nobody else is. */
  static async trustedBy(db: TestDatabase, name: string): Promise<Approver> {
    const key = await importSigningKey(await generateKeyText());
    const trusted = { [name]: { keys: [didOfKey(key.publicJwk.x)], tenants: null } };
    await db.rows('update waybill.settings set trusted_approvers = $1', [trusted]);
    return new Approver(name, key);
  }

  /** Good for ten minutes. */
  async signs(ref: ActionRef, requestDigest: string, jti = 'token-1'): Promise<string> {
    const iat = Math.floor(Date.now() / 1000);
    return await signApproval(
      {
        ...{ sub: this.name, tenant: ref.tenantId, about: aboutAction(ref.actionId), jti },
        ...{ request_digest: requestDigest, iat, exp: iat + 600 },
      },
      this.#key,
    );
  }
}
