/** What a test file of the host protocol starts from; each call registers its set-up and its end. */
import type { HostCall, HostClient } from '../../../src/hosts/client';
import type { Host, HostOptions } from '../../../src/hosts/kit/host';
import { callTo, clientOf, json, newKey } from './fixtures';
import { hostOver, Work, type WorkKeys } from './work';

export const BODY = json({ title: 'Broken lamp' });

/** Both sides' keys and Waybill's client, for all tests of the file. */
export interface Sides {
  readonly keys: WorkKeys;
  readonly client: HostClient;
}

export function bothSides(): Sides {
  let keys: WorkKeys;
  let client: HostClient;
  beforeAll(async () => {
    keys = { host: await newKey(), waybill: await newKey() };
    client = clientOf(keys.waybill);
  });
  afterAll(async () => {
    await client.close();
  });
  return {
    get keys() {
      return keys;
    },
    get client() {
      return client;
    },
  };
}

/** A host over a connector that does what the test says, a new one for each test. */
export interface HostAtWork {
  readonly client: HostClient;
  readonly host: Host;
  readonly work: Work;
  /** The result of a call that this host answers. */
  answered(outcome: unknown): unknown;
  /** An action whose try was lost: the connector threw. */
  lostAction(): Promise<HostCall>;
}

export function hostAtWork(more: Partial<HostOptions> = {}): HostAtWork {
  const sides = bothSides();
  let host: Host;
  let work: Work;
  beforeEach(async () => {
    work = new Work();
    host = await hostOver(work, sides.keys, more);
  });
  afterEach(async () => {
    await host.stop();
  });
  const answered = (outcome: unknown) => ({
    ...{ kind: 'answered', outcome, storeEpoch: host.storeEpoch },
  });
  return {
    get client() {
      return sides.client;
    },
    get host() {
      return host;
    },
    get work() {
      return work;
    },
    answered,
    async lostAction() {
      const call = callTo(host);
      const sent = sides.client.execute(call, BODY);
      (await work.times(1)).lose();
      expect(await sent).toEqual(answered({ kind: 'unknown' }));
      return call;
    },
  };
}

/** The same call with another fence. */
export function at(call: HostCall, fence: number): HostCall {
  return { ...call, fence };
}
