/**
 * Branded ids. They are plain text on the wire and in SQL; the brand keeps one from being passed
 * where another is meant. Values come in as parameters: nothing here makes one.
 */

declare const brand: unique symbol;

type Branded<Name extends string> = string & { readonly [brand]: Name };

export type TenantId = Branded<'TenantId'>;
export type SubscriptionId = Branded<'SubscriptionId'>;
export type IngressRef = Branded<'IngressRef'>;
/** A time-ordered UUID (version 7). */
export type DeliveryId = Branded<'DeliveryId'>;
/** Of a bulk replay: a time-ordered UUID, too. */
export type ReplayJobId = Branded<'ReplayJobId'>;

/** Names that people give: tenants, connectors, instances, subscriptions, targets, ingresses. */
export const NAME_PATTERN = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

/** Mark a text that an edge has checked as an id of its kind; they check nothing themselves. */
export const tenantId = (text: string): TenantId => text as TenantId;
export const subscriptionId = (text: string): SubscriptionId => text as SubscriptionId;
export const ingressRef = (text: string): IngressRef => text as IngressRef;
export const deliveryId = (text: string): DeliveryId => text as DeliveryId;
export const replayJobId = (text: string): ReplayJobId => text as ReplayJobId;
