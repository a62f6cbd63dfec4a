/**
 * What tests of the call that sends share: a real server over a real database, a vendor that records, and
 * connections to it. Doubled is the workflow: attempts are made at once in this process, one after the other.
 */
import { v7 as uuidv7 } from 'uuid';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { deliveryId } from '../../src/domain/ids';
import type { Delivered } from '../../src/schemas/api-deliver';
import type { DeliveryHistory } from '../../src/schemas/api-deliveries';
import { deliverService } from '../../src/services/deliver';
import { signApproval } from '../../src/signing/approvals/sign';
import { didOfKey } from '../../src/signing/did-key';
import { generateKeyText, importSigningKey, type SigningKey } from '../../src/signing/keys';
import { Receiver } from '../support/receiver';
import {
  attempted,
  attemptServices,
  httpOperation,
  insertConnection,
} from '../support/sending-rig';
import { Harness, type Answer } from './harness';
import type { OtherServer } from './harness-parts';

export const SEND = 'factory.deliveries.send';
/** What `env:VENDOR_TOKEN` holds: characters that headers, addresses and JSON write in other ways. */
export const TOKEN = 'tok3n-"secret" value';
/** What `env:OLD_KEY` and `env:NEW_KEY` hold. */
export const KEYS = [
  'whsec_b2xkLW9sZC1vbGQtb2xkLW9sZA==',
  'whsec_bmV3LW5ldy1uZXctbmV3LW5ldw==',
] as const;
export const ALLOWED = { id: 'decision-7', outcome: 'allow', policy: 'refunds@3' } as const;

export interface Call {
  readonly key?: string | null;
  readonly tenant?: string;
  readonly subject?: string;
  readonly scopes?: readonly string[];
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** What most calls ask for. */
export const call = (changes: object = {}): object => ({
  ...{ connector: 'pay', connectionId: 'pay', operation: 'send' },
  ...{ payload: { n: 1 }, waitMs: 10_000 },
  ...changes,
});

export class DeliverRig {
  readonly h: Harness;
  readonly vendor: Receiver;
  /** Where secrets come from. */
  readonly env: Record<string, string> = {
    VENDOR_TOKEN: TOKEN,
    OLD_KEY: KEYS[0],
    NEW_KEY: KEYS[1],
  };
  readonly #kate: SigningKey;
  readonly #attempting: ReturnType<typeof attemptServices>;
  #server: OtherServer | undefined;

  private constructor(h: Harness, vendor: Receiver, kate: SigningKey) {
    this.h = h;
    this.vendor = vendor;
    this.#kate = kate;
    this.#attempting = attemptServices(h.db, h.key, this.env);
  }

  static async start(): Promise<DeliverRig> {
    const kate = await importSigningKey(await generateKeyText());
    const rig = new DeliverRig(await Harness.start(), await Receiver.start(), kate);
    const deliver = deliverService({
      data: rig.#attempting.services.data,
      newDeliveryId: () => deliveryId(uuidv7()),
      start: (ref) => void rig.attempted(ref),
    });
    rig.#server = await rig.h.alsoServe({ deliver });
    await rig.#connections();
    return rig;
  }

  async stop(): Promise<void> {
    await this.#server?.close();
    await this.#attempting.close();
    await this.vendor.stop();
    await this.h.stop();
  }

  attempted(ref: DeliveryRef): Promise<void> {
    return attempted(this.h.db, this.#attempting.services, ref);
  }

  async deliver(body: object, { key = uuidv7(), ...who }: Call = {}): Promise<Answer> {
    const token = await this.h.token({ scopes: [SEND], ...who });
    const response = await fetch(`${this.#server?.base ?? ''}/v1/deliver`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(key === null ? {} : { 'idempotency-key': key }),
      },
      body: JSON.stringify(body),
    });
    const answered = (await response.json()) as Record<string, unknown>;
    return { status: response.status, headers: response.headers, body: answered };
  }

  /** One that is over when it is answered. */
  async delivered(body: object, options?: Call): Promise<Delivered> {
    const answer = await this.deliver(body, options);
    expect(answer).toMatchObject({ status: 200 });
    return answer.body as unknown as Delivered;
  }

  /** A token of kate, whom the deployment trusts for acme. */
  approval(key: string, digest: string, changes: object = {}): Promise<string> {
    const iat = Math.floor(Date.now() / 1000);
    const about = { about: `delivery/${key}`, request_digest: digest };
    const claims = { sub: 'kate', tenant: 'acme', ...about, iat, exp: iat + 600, jti: uuidv7() };
    return signApproval({ ...claims, ...changes }, this.#kate);
  }

  async show(id: string): Promise<DeliveryHistory> {
    return (await this.h.call<DeliveryHistory>(`/factory/deliveries/${id}`)).body;
  }

  async #connections(): Promise<void> {
    const operation = (changes: Parameters<typeof httpOperation>[1] = {}) =>
      httpOperation(this.vendor.url, { timeoutMs: 500, ...changes });
    await insertConnection(this.h.db, {
      name: 'pay',
      operations: {
        send: operation(),
        filled: operation({ url: `${this.vendor.url}/orders/{payload/order}?at={config/region}` }),
        charge: operation({ sideEffect: 'external' }),
        bearer: operation({ auth: { kind: 'bearer' } }),
        basic: operation({ auth: { kind: 'basic', user: '{config/region}' } }),
        header: operation({ auth: { kind: 'header', name: 'x-api-key', prefix: 'Key ' } }),
        query: operation({ auth: { kind: 'query', name: 'token' } }),
        signed: operation({ standardWebhooks: true, idempotencyHeader: 'webhook-id' }),
      },
      config: { region: 'eu 1' },
      secretRef: 'env:VENDOR_TOKEN',
      signingSecretRefs: ['env:NEW_KEY', 'env:OLD_KEY'],
    });
    const deaf = { name: 'deaf', operations: { send: operation() }, grants: ['source'] };
    await insertConnection(this.h.db, deaf);
    await this.h.db.rows(`update waybill.settings set trusted_approvers = $1`, [
      JSON.stringify({ kate: { keys: [didOfKey(this.#kate.publicJwk.x)], tenants: ['acme'] } }),
    ]);
  }
}
