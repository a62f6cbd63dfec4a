/** Plays the story against a running `waybill up` and prints what came of it. */
import { randomUUID } from 'node:crypto';
import { decodeJwt, type JSONWebKeySet } from 'jose';
import type { Payloads } from '../../demo/payloads';
import { ProviderControl } from '../../demo/provider-control';
import { ReceiverClient } from '../../demo/receiver-client';
import { actionRouteOf, routeOf } from '../../demo/routes';
import type { StoryDeps, StoryLine } from '../../demo/story/deps';
import { playLine, story } from '../../demo/story/story';
import { temporalLists, type TemporalLists } from '../../demo/temporal-lists';
import type { DeliveryHistory } from '../../schemas/api-deliveries';
import { verifyReceiptChain } from '../../signing/receipts/verify-chain';
import type { EmbeddedServer } from '../../workers/embedded/embedded-server';
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
    else tell(running, { lines, receipt, actionId: played.survivor()?.actionId });
    return asExpected;
  } finally {
    await lists.close();
  }
}

/** What the commands to try next are about. */
interface Examples {
  readonly deliveryId?: string | undefined;
  readonly actionId?: string | undefined;
}

/** Where everything is, and what to try next. */
export function addressLines(running: RunningUp, examples: Examples = {}): string[] {
  const { api, temporalUi, receiver, provider } = running.addresses;
  const { deliveryId = '<delivery>', actionId = '<action>' } = examples;
  return [
    `API and ingress  ${api}  (OpenAPI: ${api}/openapi.json)`,
    `Temporal UI      ${temporalUi ?? 'set WAYBILL_TEMPORAL_UI to have links into it'}`,
    `demo receiver    ${receiver}/control/records`,
    ...(provider === null ? [] : [`demo provider    ${provider}/control/audit`]),
    `logs and data    ${running.settings.home}`,
    '',
    'Try next, in another terminal:',
    '  npx waybill deliveries list',
    `  npx waybill deliveries show ${deliveryId} --json | npx waybill receipt verify`,
    `  npx waybill actions show ${actionId}`,
  ];
}

function storyDeps(
  { running, payloads }: StoryOptions,
  access: { readonly lists: TemporalLists; readonly tenant: string; readonly token: string },
): StoryDeps {
  const { addresses, fleet, temporal, hosts } = running;
  const api = new ApiClient(addresses.api, access.token);
  const query = `WaybillTenant = "${access.tenant}" and WaybillState = "Failed"`;
  return {
    ...{ payloads, api, actions: api },
    receiver: new ReceiverClient(addresses.receiver),
    provider: new ProviderControl(addresses.provider ?? ''),
    ingressUrl: ({ event }) => `${addresses.api}/webhooks/${routeOf(fleet, event).ingressRef}`,
    actionIngressUrl: ({ event }) =>
      `${addresses.api}/webhooks/${actionRouteOf(fleet, event).ingressRef}`,
    targetPath: ({ event }) => new URL(routeOf(fleet, event).targetUrl).pathname,
    githubSecret: running.secrets.WAYBILL_EXAMPLE_GITHUB_SECRET,
    failedWorkflows: () => access.lists.find(query),
    withoutTemporal: temporal && ((work) => without(running, temporal, work)),
    withoutHost: async (replicaId, work) => {
      const host = hosts.get(replicaId);
      if (host === undefined) throw new Error(`${replicaId} is no host of ours`);
      await without(running, host, work);
    },
    newGuid: randomUUID,
  };
}

/** Killed for real while the work is done, then started again. */
async function without(
  running: RunningUp,
  server: Pick<EmbeddedServer, 'kill' | 'start'>,
  work: () => Promise<void>,
): Promise<void> {
  await server.kill('SIGKILL');
  try {
    await work();
  } finally {
    await server.start();
    running.describe();
  }
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

interface Told {
  readonly lines: readonly StoryLine[];
  readonly receipt: ShownReceipt | null;
  readonly actionId: string | undefined;
}

function tell(running: RunningUp, { lines, receipt, actionId }: Told): void {
  printLine();
  printLine(storyTable(lines, terminalWidth()));
  if (receipt !== null) {
    const verdict = receipt.verified ? 'verified' : 'NOT VERIFIED';
    printLine(`\nThe signed receipt of line 1 (${verdict}):`);
    printLine(JSON.stringify(receipt.payload, null, 2));
  }
  const deliveryId = lines[0]?.id ?? undefined;
  printLine(`\n${addressLines(running, { deliveryId, actionId }).join('\n')}`);
}
