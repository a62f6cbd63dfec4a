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
  signs(ref: ActionRef, requestDigest: string, jti = 'token-1'): Promise<string> {
    return this.#sign(
      { tenant: ref.tenantId, about: aboutAction(ref.actionId) },
      requestDigest,
      jti,
    );
  }

  /** The same, of what tenant acme sends under a key. */
  signsDelivery(key: string, requestDigest: string, jti: string): Promise<string> {
    return this.#sign({ tenant: 'acme', about: `delivery/${key}` }, requestDigest, jti);
  }

  async #sign(
    what: { readonly tenant: string; readonly about: string },
    requestDigest: string,
    jti: string,
  ): Promise<string> {
    const iat = Math.floor(Date.now() / 1000);
    return await signApproval(
      {
        ...{ sub: this.name, ...what, jti },
        ...{ request_digest: requestDigest, iat, exp: iat + 600 },
      },
      this.#key,
    );
  }
}
