/** Actions to their end. Both may be repeated from anywhere: the action's id says that it is the same one. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'openapi-fetch';
import type { components, paths } from '../../client/openapi';
import { answerOf } from './answers';

export type Action = components['schemas']['Action'];

type StartBody = NonNullable<
  paths['/v1/actions/{actionId}']['put']['requestBody']
>['content']['application/json'];

/** How long one request waits for the end. */
const WAIT_MS = 25_000;

const FIRST_LOOK_MS = 250;
const LONGEST_LOOK_MS = 5_000;

/**
 * Starts an action, or meets it where it was started, and waits until it is closed: `completed`, `failed` or
 * `cancelled`. It may wait for a person for long; the signal ends the waiting, not the action.
 * @throws WaybillProblem where it was refused; what the signal says
 */
export async function runAction(
  client: Client<paths>,
  actionId: string,
  body: StartBody,
  options: { readonly signal?: AbortSignal } = {},
): Promise<Action> {
  const params = { path: { actionId }, query: { waitMs: String(WAIT_MS) } };
  for (;;) {
    const action = await answerOf(
      client.PUT('/v1/actions/{actionId}', { params, body, ...options }),
    );
    if (action.closedAt !== null) return action;
    await delay(FIRST_LOOK_MS, undefined, options);
  }
}

/**
 * Looks at an action until it is closed, ever more rarely, at most every 5 s.
 * @throws WaybillProblem `not_found` where it was never started; what the signal says
 */
export async function waitForAction(
  client: Client<paths>,
  actionId: string,
  options: { readonly signal?: AbortSignal } = {},
): Promise<Action> {
  const params = { path: { actionId } };
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(lookMs * 2, LONGEST_LOOK_MS)) {
    const action = await answerOf(client.GET('/v1/actions/{actionId}', { params, ...options }));
    if (action.closedAt !== null) return action;
    await delay(lookMs, undefined, options);
  }
}
