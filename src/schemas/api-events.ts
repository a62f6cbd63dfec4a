/** The feed of events and the sinks they go to, as the API shows them. */
import { z } from 'zod';
import { EVENT_TYPES } from '../domain/events';
import { SINK_STATES } from '../domain/event-sinks';
import { Answered, pageFields, paging } from './api-common';

const Type = z.enum(EVENT_TYPES, { error: `is one of ${EVENT_TYPES.join(', ')}` });

export const ListEventsQuery = z.strictObject({
  after: z
    .string()
    .max(500)
    .optional()
    .describe(
      'next of the page before, whatever its types; end: behind all that is there now; left out: ' +
        'from the oldest event on.',
    ),
  types: z
    .string()
    .max(1000)
    .transform((text) => text.split(','))
    .pipe(z.array(Type))
    .optional()
    .describe('Only these, separated by commas.'),
  limit: paging.limit,
});

export const CloudEventJson = z
  .object({
    specversion: z.literal('1.0'),
    id: z.string().describe('The same however often it is sent, and no other event has it.'),
    source: z.string(),
    type: Type,
    subject: z.string().describe('What it tells of, such as delivery/0198c0de-….'),
    time: Answered,
    datacontenttype: z.literal('application/json'),
    tenant: z.string().describe('The own one, or _platform.'),
    sequence: z.string().describe('Of the subject: 1, 2, 3 … without gaps.'),
    sequencetype: z.literal('Integer'),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'CloudEvent' });

export const EventPage = z
  .object({
    events: z.array(CloudEventJson).describe('In an order that holds for each subject.'),
    next: z.string().describe('What to ask for next, also where nothing is there yet.'),
    more: z.boolean().describe('Whether there is more already.'),
  })
  .meta({ id: 'EventPage' });
export type EventPage = z.infer<typeof EventPage>;

export const ListEventSinksQuery = z.strictObject(paging);

const ParkedSubject = z.object({
  subject: z.string(),
  reason: z.string(),
  detail: z.string().nullable(),
  failures: z.int(),
  parkedAt: Answered,
  nextAttemptAt: Answered,
});

export const EventSink = z
  .object({
    sinkId: z.string(),
    url: z.string().describe('Without its query, where a token may stand.'),
    types: z.array(z.string()),
    state: z.enum(SINK_STATES),
    pauseReason: z.string().nullable().describe('target_gone: it answered 410.'),
    failures: z.int().describe('In a row; 0: it takes what it gets.'),
    failingSince: Answered.nullable(),
    nextAttemptAt: Answered.nullable(),
    reason: z.string().nullable().describe('Why the last attempt failed.'),
    detail: z.string().nullable(),
    lastTakenAt: Answered.nullable(),
    behind: z.int().describe('Events of the feed behind its place, up to 1000.'),
    oldestBehindAt: Answered.nullable(),
    parkedCount: z.int().describe('Subjects that wait because it refused an event of theirs.'),
    parked: z.array(ParkedSubject).describe('The first 20, those that wait longest first.'),
    missed: z.int().describe('Events that were too old to be kept for it any longer.'),
    lastMissedAt: Answered.nullable(),
  })
  .meta({ id: 'EventSink' });
export type EventSink = z.infer<typeof EventSink>;

export const EventSinkPage = z
  .object({
    view: pageFields.view,
    sinks: z.array(EventSink),
    nextCursor: pageFields.nextCursor,
  })
  .meta({ id: 'EventSinkPage' });
export type EventSinkPage = z.infer<typeof EventSinkPage>;
