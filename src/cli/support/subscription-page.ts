/** One subscription for people: what it is, and what to enter at the vendor. */
import type { Subscription } from '../../schemas/api-subscriptions';
import { secondsOf } from './instants';
import { printJson, printLine } from './output';
import { facts, page, titled } from './sections';

/** Prints it, as JSON where that was asked for. */
export function printSubscription(subscription: Subscription, json: true | undefined): void {
  if (json === true) printJson(subscription);
  else printLine(pageOf(subscription));
}

function pageOf(of: Subscription): string {
  const about: [string, string][] = [
    ['subscription', of.subscriptionId],
    ['state', of.pauseReason === null ? of.state : `${of.state} (${of.pauseReason})`],
    ['instance', `${of.instanceId}, ${of.connectorId} ${of.version}`],
    ['target', of.targetId],
    ['lane', of.lane],
    ['event types', of.eventTypes.join(', ')],
    ['last delivery', of.lastDeliveryAt === null ? '-' : secondsOf(of.lastDeliveryAt)],
  ];
  return page([facts(about), of.ingress === null ? '' : atVendor(of.ingress)]);
}

function atVendor(ingress: NonNullable<Subscription['ingress']>): string {
  const toEnter: [string, string][] = [
    ['address', ingress.url],
    ['signed by', [ingress.scheme, ingress.signatureField].filter(Boolean).join(', in ')],
    ...ingress.secrets.map(({ id, ref }): [string, string] => ['secret', `${id}: ${ref}`]),
    ...ingress.previous.map(({ ref, until, works }): [string, string] => [
      'before',
      `${ref} ${works ? 'works until' : 'is gone since'} ${secondsOf(until)}`,
    ]),
  ];
  return titled('to enter at the vendor', facts(toEnter));
}
