/** `waybill events follow`: events as they come, one a line, until Ctrl-C. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { WaybillError } from '../../domain/errors';
import type { EventPage } from '../../schemas/api-events';
import { openApi } from '../support/api-access';
import type { ApiClient } from '../support/api-client';
import { printLine } from '../support/output';
import { endRequested } from '../support/signals';
import { lineOf, typesOf, withEventOptions, type EventsOptions } from './options';

const ASK_EVERY_MS = 1_000;
/** The most that a page has. */
const PAGE = '200';

export function addFollow(events: Command): void {
  withEventOptions(
    events
      .command('follow')
      .description('Print events as they come, until Ctrl-C.')
      .option('--json', 'one CloudEvent as JSON a line'),
  )
    .addHelpText(
      'after',
      '\nBegins with what comes next; with --after, with what came since then.\n' +
        '\nExample: what fails from now on\n  $ waybill events follow --type DeliveryFailed\n',
    )
    .action(follow);
}

async function follow(options: EventsOptions): Promise<void> {
  const end = endRequested();
  const api = await openApi(options);
  const types = typesOf(options);
  let after = options.after ?? (await api.listEvents({ after: 'end' })).next;
  while (!end.aborted) {
    const page = await patientPage(api, { after, types, limit: PAGE });
    for (const event of page?.events ?? []) {
      printLine(options.json ? JSON.stringify(event) : lineOf(event));
    }
    after = page?.next ?? after;
    if (page?.more !== true) {
      await delay(ASK_EVERY_MS, undefined, { signal: end }).catch(() => undefined);
    }
  }
}

/** Null: the API is away for a moment; whoever follows waits for it. */
async function patientPage(
  api: ApiClient,
  query: Parameters<ApiClient['listEvents']>[0],
): Promise<EventPage | null> {
  try {
    return await api.listEvents(query);
  } catch (error) {
    if (error instanceof WaybillError && error.retryable) return null;
    throw error;
  }
}
