/**
 * What verdicts are taken from: read-only queries of the run's own, over connections of its own, against the
 * databases of Waybill and of the provider, and a look into the stores of hosts. Nothing that the deployment
 * answers counts here.
 */
import { z } from 'zod';
import { LANES } from '../../domain/lanes';
import type { Database } from '../../db/database';
import type { Site } from '../site/site';
import { PROVIDER_DATABASE, MAIN_DATABASE, poolOf } from '../site/databases';
import type { Tenant } from '../site/topology';
import { verifyReceiptChain } from '../../signing/receipts/verify-chain';
import { publicKeySet } from '../../signing/keys';
import { settledInStores } from './host-stores';
import type { Ledger } from '../families/soak';
import { ledgerOf, type Accepted, type TargetEntry } from './ledger';
import { EXPRESS_FIRSTS, LANES_OF } from './ledger-queries';
import * as texts from './queries';

export interface ActionOfTenant {
  readonly tenant: Tenant;
  readonly actionId: string;
}

const Count = z.object({ n: z.number() });
export const ActionFacts = z.object({
  state: z.string(),
  reason: z.string().nullable(),
  errorCode: z.string().nullable(),
  result: z.unknown(),
  replica: z.string().nullable(),
  routes: z.number(),
  attempts: z.number(),
  openAttempts: z.number(),
  replicas: z.number(),
});
export type ActionFacts = z.infer<typeof ActionFacts>;
const ReplicaFacts = z.object({
  replica: z.string(),
  status: z.string(),
  leased: z.boolean(),
  leaseEndsAt: z.string(),
  incarnation: z.number(),
  capacity: z.number(),
  activeAssignments: z.number(),
  unknownFailures: z.number(),
  circuit: z.enum(['closed', 'open', 'half_open']),
});
export type ReplicaFacts = z.infer<typeof ReplicaFacts>;
const Attempt = z.object({ settlement: z.string().nullable(), evidence: z.unknown() });
const DeliveryFacts = z.object({
  id: z.string(),
  lane: z.enum(LANES),
  state: z.string(),
  openAttempts: z.number(),
  attempts: z.number(),
  /** Attempts that were opened before the one before them was closed. */
  overlaps: z.number(),
  /** Who opened the first attempt: `workflow`, `loop` or `nobody`. */
  firstBy: z.string(),
});
export type DeliveryFacts = z.infer<typeof DeliveryFacts>;
const Firsts = z.object({ all: z.number(), byLoop: z.number() });
const Receipt = z.object({ kind: z.string(), jws: z.string() });

/** What there is of one action, by independent counts. */
export interface RecordCounts {
  readonly 'provider effects': number;
  /** Asked of people for this very request, and approved once by somebody else. */
  readonly 'approval requests': number;
  readonly 'provider effects under that approval': number;
  readonly 'provider creation audit events': number;
  readonly 'settled idempotency results': number;
  readonly 'terminal action results': number;
  /** Whole chains that verify and end once. */
  readonly 'receipt chains': number;
}

export class Judge {
  readonly #site: Site;
  readonly #waybill: Database;
  readonly #provider: Database;

  constructor(site: Site) {
    const { databases } = site.ground;
    this.#site = site;
    this.#waybill = poolOf(databases.judge(MAIN_DATABASE), 'qualification-judge');
    this.#provider = poolOf(databases.judge(PROVIDER_DATABASE), 'qualification-judge');
  }

  async close(): Promise<void> {
    await Promise.all([this.#waybill.close(), this.#provider.close()]);
  }

  /** Null: there is no such action. */
  async action({ tenant, actionId }: ActionOfTenant): Promise<ActionFacts | null> {
    const [found] = await this.#rows(ActionFacts, texts.ACTION, [tenant, actionId]);
    return found ?? null;
  }

  async records(ref: ActionOfTenant): Promise<RecordCounts> {
    const { tenant, actionId } = ref;
    const approval = await this.#text(texts.APPROVAL, [tenant, actionId]);
    const [receipts, approvals, results, effects, approved, creations] = await Promise.all([
      this.receipts(ref),
      this.#count(texts.APPROVAL_REQUESTS, [tenant, actionId]),
      this.#count(texts.RESULTS, [tenant, actionId]),
      this.#countAtProvider(texts.EFFECTS, [actionId]),
      this.#countAtProvider(texts.EFFECTS_UNDER_APPROVAL, [actionId, approval]),
      this.#countAtProvider(texts.CREATIONS, [actionId]),
    ]);
    return {
      'provider effects': effects,
      'approval requests': approvals,
      'provider effects under that approval': approved,
      'provider creation audit events': creations,
      'settled idempotency results': settledInStores(this.#site.ground.workspace, ref),
      'terminal action results': results,
      'receipt chains': await this.#wholeChains(receipts, texts.TERMINAL_RECEIPTS),
    };
  }

  /** Of its chain, oldest first. */
  async receipts({ tenant, actionId }: ActionOfTenant): Promise<z.infer<typeof Receipt>[]> {
    return await this.#rows(Receipt, texts.RECEIPTS, [tenant, `action/${actionId}`]);
  }

  /** Oldest first. */
  async attempts({ tenant, actionId }: ActionOfTenant): Promise<z.infer<typeof Attempt>[]> {
    return await this.#rows(Attempt, texts.ATTEMPTS, [tenant, actionId]);
  }

  /** All rows of one event of the vendor, duplicates included. */
  async deliveriesOf(externalId: string): Promise<DeliveryFacts[]> {
    return await this.#rows(DeliveryFacts, texts.DELIVERIES, [externalId]);
  }

  async receiptsOf(deliveryId: string): Promise<z.infer<typeof Receipt>[]> {
    return await this.#rows(Receipt, texts.RECEIPTS, ['acme', `delivery/${deliveryId}`]);
  }

  /** Whole chains of the delivery that verify and end with its acknowledgement, once. */
  async deliveryChains(deliveryId: string): Promise<number> {
    return await this.#wholeChains(await this.receiptsOf(deliveryId), ['acknowledged']);
  }

  async effects(actionId: string): Promise<number> {
    return await this.#countAtProvider(texts.EFFECTS, [actionId]);
  }

  /** Reads of a record at the provider, disclosed or not; with null, all. */
  async recordReads(recordId: string, disclosed: boolean | null): Promise<number> {
    return await this.#countAtProvider(texts.RECORD_READS, [recordId, disclosed]);
  }

  async replicas(): Promise<ReplicaFacts[]> {
    return await this.#rows(ReplicaFacts, texts.REPLICAS, []);
  }

  async replica(id: string): Promise<ReplicaFacts> {
    const found = (await this.replicas()).find(({ replica }) => replica === id);
    if (found === undefined) throw new Error(`the registry has no replica ${id}`);
    return found;
  }

  /** Replicas that are ready with a lease that has not run out. */
  async readyReplicas(): Promise<number> {
    return (await this.replicas()).filter(({ status, leased }) => status === 'ready' && leased)
      .length;
  }

  /** Counters that are not what the open attempts make them. */
  async wrongCounters(): Promise<number> {
    return (await this.wrongReplicaCounters()) + (await this.wrongQuotaCounters());
  }

  async wrongReplicaCounters(): Promise<number> {
    return await this.#count(texts.WRONG_REPLICA_COUNTERS, []);
  }

  /** Of all quota scopes. */
  async wrongQuotaCounters(): Promise<number> {
    return await this.#count(texts.WRONG_QUOTA_COUNTERS, []);
  }

  async catalogRevision(): Promise<number> {
    return await this.#count(texts.REVISION, []);
  }

  async credentialStatus(instance: string): Promise<string> {
    return await this.#text(texts.CREDENTIAL, [instance]);
  }

  async versionStatus(connector: string): Promise<string> {
    return await this.#text(texts.VERSION_STATUS, [connector]);
  }

  /** Everything that was accepted against everything that there is. */
  async ledger(accepted: Accepted, target: readonly TargetEntry[]): Promise<Ledger> {
    const keys = publicKeySet([this.#site.keys.deployment.key]);
    const wrongCounters = await this.wrongCounters();
    const databases = { waybill: this.#waybill, provider: this.#provider };
    return await ledgerOf({ ...databases, keys, target, wrongCounters }, accepted);
  }

  /** First attempts of deliveries of the express lane, and those of them that its loop made. */
  async expressFirsts(): Promise<z.infer<typeof Firsts>> {
    const [found] = await this.#rows(Firsts, EXPRESS_FIRSTS, []);
    return found ?? { all: 0, byLoop: 0 };
  }

  /** That deliveries of the subscription are in, in words. */
  async lanesOf(subscription: string): Promise<string> {
    return await this.#text(LANES_OF, [subscription]);
  }

  /** Actions and deliveries that are neither at an end nor wait for a person. */
  async underWay(): Promise<number> {
    return await this.#count(texts.UNDER_WAY, []);
  }

  /** How many actions and deliveries there are in each state. */
  async totals(): Promise<unknown[]> {
    return await this.#rows(z.unknown(), texts.TOTALS, []);
  }

  /** Routes as they stand, the newest 200: who goes where, under what, and how it was settled. */
  async routes(): Promise<unknown[]> {
    return await this.#rows(z.unknown(), texts.ROUTES, []);
  }

  async admissionCounters(): Promise<unknown[]> {
    return await this.#rows(z.unknown(), texts.COUNTERS, []);
  }

  async #wholeChains(
    receipts: readonly z.infer<typeof Receipt>[],
    kinds: readonly string[],
  ): Promise<number> {
    const ends = receipts.filter(({ kind }) => kinds.includes(kind));
    if (ends.length === 0) return 0;
    const keys = publicKeySet([this.#site.keys.deployment.key]);
    const verdict = await verifyReceiptChain(
      receipts.map(({ jws }) => jws),
      keys,
    );
    const isWhole = verdict.ok && receipts.at(-1) === ends.at(-1);
    return isWhole ? ends.length : -ends.length;
  }

  async #count(text: string, values: readonly unknown[]): Promise<number> {
    return (await this.#rows(Count, text, values))[0]?.n ?? 0;
  }

  async #text(text: string, values: readonly unknown[]): Promise<string> {
    const [row] = await this.#rows(z.object({ text: z.string() }), text, values);
    return row?.text ?? 'none';
  }

  async #rows<Value>(schema: z.ZodType<Value>, text: string, values: readonly unknown[]) {
    const rows = await this.#waybill.query({ name: 'judge', text }, values);
    return z.array(schema).parse(rows);
  }

  async #countAtProvider(text: string, values: readonly unknown[]): Promise<number> {
    const rows = await this.#provider.query({ name: 'judge', text }, values);
    return z.array(Count).parse(rows)[0]?.n ?? 0;
  }
}
