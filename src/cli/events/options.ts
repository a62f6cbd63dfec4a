/** What reading events takes, on the command line. */
import { Option, type Command } from 'commander';
import { EVENT_TOPICS, type EventName } from '../../domain/events';
import type { EventPage } from '../../schemas/api-events';
import { withApiOptions, type ApiOptions } from '../support/api-access';
import { secondsOf } from '../support/instants';

export interface EventsOptions extends ApiOptions {
  readonly type?: EventName[];
  readonly after?: string;
  readonly json?: true;
}

const NAMES = Object.keys(EVENT_TOPICS);

export function withEventOptions(command: Command): Command {
  return withApiOptions(
    command
      .addOption(new Option('--type <names...>', 'only these events').choices(NAMES))
      .option('--after <place>', 'from this place in the feed on: what an answer calls next'),
  );
}

/** The query's types; undefined: of all. */
export function typesOf({ type }: EventsOptions): string | undefined {
  return type?.map((name) => EVENT_TOPICS[name]).join(',');
}

type Event = EventPage['events'][number];

/** The event's name where it is known, e.g. `DeliveryFailed`. */
export function nameOf({ type }: Event): string {
  return NAMES.find((name) => EVENT_TOPICS[name as EventName] === type) ?? type;
}

/** The values that tell most, in one line. */
export function gistOf({ data }: Event): string {
  const said = Object.entries(data).filter(([field]) => !SAID_ELSEWHERE.has(field));
  return said.map(([field, value]) => `${field}=${String(value)}`).join(' ');
}

/** In the subject, or of no help to people. */
const SAID_ELSEWHERE = new Set(['deliveryId', 'tenantId', 'subscriptionId', 'payloadHash']);

export function lineOf(event: Event): string {
  return `${secondsOf(event.time)}  ${nameOf(event)}  ${event.subject}  ${gistOf(event)}`.trimEnd();
}
