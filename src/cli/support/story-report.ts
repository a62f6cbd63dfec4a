/** Plays the story against a running `waybill up` and prints what came of it. */
import { randomUUID } from 'node:crypto';
import { decodeJwt, type JSONWebKeySet } from 'jose';
import type { Payloads } from '../../demo/payloads';
import { ReceiverClient } from '../../demo/receiver-client';
import { routeOf } from '../../demo/routes';
import type { StoryDeps, StoryLine } from '../../demo/story/deps';
import { playLine, story } from '../../demo/story/story';
import { temporalLists, type TemporalLists } from '../../demo/temporal-lists';
import type { DeliveryHistory } from '../../schemas/api-deliveries';
import { verifyReceiptChain } from '../../signing/receipts/verify-chain';
import type { RunSteps } from '../../workers/up/steps';
import type { RunningUp } from '../../workers/up/up';
import { developmentToken, ownToken } from './api-access';
import { ApiClient, fetchKeySet } from './api-client';
import { printJson, printLine, terminalWidth } from './output';
import { storyTable } from './story-table';

export interface StoryOptions {
  readonly running: RunningUp;
  readonly payloads: Payloads;
  readonly runSteps: RunSteps;
  readonly json: boolean;
  /** The end came in between: nothing more is played or printed. */
  readonly signal: AbortSignal;
}

/** A receipt as it is shown: what was signed, and whether the signature and the chain are right. */
interface ShownReceipt {
  readonly payload: unknown;
  readonly verified: boolean;
}

/** Answers whether every line came out as expected; null where the end came in between. */
export async function tellStory(options: StoryOptions): Promise<boolean | null> {
  const { running, runSteps, json, signal } = options;
  const { tenant } = routeOf(running.fleet, options.payloads.push.event);
  const lists = temporalLists(running.environment);
  try {
    const token = ownToken() ?? (await developmentToken(running.config, tenant));
    const deps = storyDeps(options, { lists, tenant, token });
    const played = story(deps);
    const lines: StoryLine[] = [];
    for (const chapter of played.chapters) {
      const work = async (note: (line: string) => void) => {
        const line = await playLine(chapter);
        lines.push(line);
        note(line.expected ? 'as expected' : line.seen);
      };
      await runSteps([{ title: chapter.what, work }]);
      if (signal.aborted) return null;
    }
    const receipt = await shownReceipt(played.firstDelivery(), running.addresses.api);
    const asExpected = lines.every((line) => line.expected) && receipt?.verified === true;
    const { addresses } = running;
    if (json) printJson({ lines, receipt, addresses, asExpected });
    else tell(running, lines, receipt);
    return asExpected;
  } finally {
    await lists.close();
  }
}

/** Where everything is, and what to try next. */
export function addressLines(running: RunningUp, deliveryId?: string): string[] {
  const { api, temporalUi, receiver } = running.addresses;
  const example = deliveryId ?? '<delivery>';
  return [
    `API and ingress  ${api}  (OpenAPI: ${api}/openapi.json)`,
    `Temporal UI      ${temporalUi ?? 'set WAYBILL_TEMPORAL_UI to have links into it'}`,
    `demo receiver    ${receiver}/control/records`,
    `logs and data    ${running.settings.home}`,
    '',
    'Try next, in another terminal:',
    '  npx waybill deliveries list',
    `  npx waybill deliveries show ${example}`,
    `  npx waybill deliveries show ${example} --json | npx waybill receipt verify`,
  ];
}

function storyDeps(
  { running, payloads }: StoryOptions,
  access: { readonly lists: TemporalLists; readonly tenant: string; readonly token: string },
): StoryDeps {
  const { addresses, fleet, temporal } = running;
  const query = `WaybillTenant = "${access.tenant}" and WaybillState = "Failed"`;
  return {
    payloads,
    api: new ApiClient(addresses.api, access.token),
    receiver: new ReceiverClient(addresses.receiver),
    ingressUrl: ({ event }) => `${addresses.api}/webhooks/${routeOf(fleet, event).ingressRef}`,
    targetPath: ({ event }) => new URL(routeOf(fleet, event).targetUrl).pathname,
    githubSecret: running.secrets.WAYBILL_EXAMPLE_GITHUB_SECRET,
    failedWorkflows: () => access.lists.find(query),
    withoutTemporal:
      temporal === null
        ? null
        : async (work) => {
            await temporal.kill('SIGKILL');
            try {
              await work();
            } finally {
              await temporal.start();
              running.describe();
            }
          },
    newGuid: randomUUID,
  };
}

async function shownReceipt(
  delivery: DeliveryHistory | null,
  api: string,
): Promise<ShownReceipt | null> {
  const receipts = delivery?.receipts.map(({ jws }) => jws) ?? [];
  const [last] = receipts.slice(-1);
  if (last === undefined) return null;
  const keys: JSONWebKeySet = await fetchKeySet(`${api}/.well-known/jwks.json`);
  const { ok } = await verifyReceiptChain(receipts, keys);
  return { payload: decodeJwt(last), verified: ok };
}

function tell(running: RunningUp, lines: readonly StoryLine[], receipt: ShownReceipt | null): void {
  printLine();
  printLine(storyTable(lines, terminalWidth()));
  if (receipt !== null) {
    const verdict = receipt.verified ? 'verified' : 'NOT VERIFIED';
    printLine(`\nThe signed receipt of line 1 (${verdict}):`);
    printLine(JSON.stringify(receipt.payload, null, 2));
  }
  const example = lines.find((line) => line.deliveryId !== null)?.deliveryId ?? undefined;
  printLine(`\n${addressLines(running, example).join('\n')}`);
}
